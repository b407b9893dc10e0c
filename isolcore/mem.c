/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mem.h"

#include <stdint.h>

void (*mem_exhausted)(void);

void out_of_memory(void)
{
	if (mem_exhausted)
		mem_exhausted();
	abort();
}

static void *must(void *p)
{
	if (!p)
		out_of_memory();
	return p;
}

void *xcalloc(size_t n, size_t size)
{
	return must(calloc(n ? n : 1, size ? size : 1));
}

void *xgrow(void *array, size_t need, size_t *room, size_t size)
{
	size_t want = *room ? *room : 8;

	if (array && need <= *room)
		return array;
	while (want < need)
		want = want > SIZE_MAX / 2 ? need : want * 2;
	array = must(reallocarray(array, want, size));
	*room = want;
	return array;
}

char *xstrdup(const char *s)
{
	return must(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
	return must(strndup(s, n));
}

char *xvasprintf(const char *fmt, va_list ap)
{
	char *s = NULL;

	if (vasprintf(&s, fmt, ap) < 0)
		s = NULL;
	return must(s);
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = xvasprintf(fmt, ap);
	va_end(ap);
	return s;
}

void xappend(char **text, const char *fmt, ...)
{
	char *before = *text, *added;
	va_list ap;

	va_start(ap, fmt);
	added = xvasprintf(fmt, ap);
	va_end(ap);
	*text = before ? xasprintf("%s%s", before, added) : xstrdup(added);
	free(before);
	free(added);
}

FILE *xopen_memory(char **text, size_t *size)
{
	return must(open_memstream(text, size));
}

void xclose_memory(FILE *stream)
{
	if (fclose(stream))
		out_of_memory();
}

void xreplace(char **slot, const char *s)
{
	char *copy = s ? xstrdup(s) : NULL;

	free(*slot);
	*slot = copy;
}

void xvreplace(char **slot, const char *fmt, va_list ap)
{
	char *text = fmt ? xvasprintf(fmt, ap) : NULL;

	free(*slot);
	*slot = text;
}
