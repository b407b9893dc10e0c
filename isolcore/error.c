/* SPDX-License-Identifier: GPL-2.0-or-later */
#define ERROR_IMPLEMENTATION
#include "error.h"

#include <errno.h>

void error_clear(struct error *e)
{
	free(e->text);
	*e = (struct error)ERROR_INIT;
}

static void replace_text(struct error *e, char *text)
{
	free(e->text);
	e->text = text;
}

int error_set(struct error *e, int err, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return -err;
	va_start(ap, fmt);
	replace_text(e, xvasprintf(fmt, ap));
	va_end(ap);
	e->err = err;
	e->reason = NULL;
	return -err;
}

int error_errno(struct error *e, int err, const char *fmt, ...)
{
	_cleanup_free_ char *what = NULL;
	va_list ap;

	if (!e)
		return -err;
	va_start(ap, fmt);
	what = xvasprintf(fmt, ap);
	va_end(ap);
	return error_set(e, err, "%s: %s", what, strerror(err));
}

int error_prefix(struct error *e, const char *fmt, ...)
{
	_cleanup_free_ char *prefix = NULL;
	va_list ap;

	if (!e)
		return -EINVAL;
	va_start(ap, fmt);
	prefix = xvasprintf(fmt, ap);
	va_end(ap);
	replace_text(e, xasprintf("%s: %s", prefix, e->text ? e->text : "unknown error"));
	return -e->err;
}

int error_append(struct error *e, const char *fmt, ...)
{
	_cleanup_free_ char *suffix = NULL;
	va_list ap;

	if (!e)
		return -EINVAL;
	va_start(ap, fmt);
	suffix = xvasprintf(fmt, ap);
	va_end(ap);
	replace_text(e, xasprintf("%s%s", e->text ? e->text : "", suffix));
	return -e->err;
}

int error_move(struct error *dst, struct error *src)
{
	int err = src->err;

	if (dst) {
		free(dst->text);
		*dst = *src;
		*src = (struct error)ERROR_INIT;
	} else {
		error_clear(src);
	}
	return -err;
}
