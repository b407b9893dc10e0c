/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "knob.h"

#include <errno.h>

int knob_file_read(const struct system *sys, const char *path, char **value, struct error *err)
{
	int rc = sysroot_read(&sys->root, path, value, err);

	if (!rc && strchr(*value, '\n')) {
		free(*value);
		*value = NULL;
		rc = error_set(err, EINVAL, "cannot read %s: it has more than one line", path);
	}
	return rc;
}

/*
 * Paths come from journals, too. On the live machine a setting is a file of the kernel's: whatever
 * a journal says, no other file is written to.
 */
static int check_kernel_file(const struct sysroot *root, const char *path, struct error *err)
{
	int rc = root->live ? sysroot_is_kernels(root, path) : 1;

	if (rc < 0)
		return error_errno(err, -rc, "cannot write to %s", path);
	return rc ? 0
	          : error_set(err, EPERM, "cannot write to %s: it is no file of the kernel's",
	                      path);
}

int knob_file_write(const struct system *sys, const char *path, const char *value,
                    struct error *err)
{
	int rc;

	if (!value)
		return error_set(err, EINVAL, "cannot put %s back: its value before is not known",
		                 path);
	rc = check_kernel_file(&sys->root, path, err);
	return rc ? rc : sysroot_write(&sys->root, path, value, err);
}

void shell_quote(FILE *out, const char *word)
{
	putc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			putc(*word, out);
	}
	putc('\'', out);
}

void knob_file_shell(FILE *out, const char *path, const char *value)
{
	fputs("printf '%s\\n' ", out);
	shell_quote(out, value);
	fputs(" > ", out);
	shell_quote(out, path);
	putc('\n', out);
}

/* A decimal number as sign and digits without leading zeros: of any length, so nothing overflows.
 */
struct decimal {
	bool negative;
	const char *digits;
	size_t n_digits;
};

static bool parse_decimal(struct decimal *number, const char *text)
{
	const char *end;

	text += strspn(text, " \t");
	number->negative = *text == '-';
	text += *text == '-' || *text == '+';
	number->n_digits = strspn(text, "0123456789");
	end = text + number->n_digits;
	if (!number->n_digits || end[strspn(end, " \t")])
		return false;
	for (; number->n_digits > 1 && *text == '0'; text++)
		number->n_digits--;
	number->digits = text;
	if (*text == '0')
		number->negative = false;
	return true;
}

bool knob_same_number(const char *a, const char *b)
{
	struct decimal m, n;

	if (!parse_decimal(&m, a) || !parse_decimal(&n, b))
		return !strcmp(a, b);
	return m.negative == n.negative && m.n_digits == n.n_digits &&
	       !memcmp(m.digits, n.digits, m.n_digits);
}

static bool same_mask(int (*parse)(struct cpumask *, const char *), const char *a, const char *b)
{
	_cleanup_cpumask_ struct cpumask m = CPUMASK_INIT, n = CPUMASK_INIT;

	if (parse(&m, a) || parse(&n, b))
		return !strcmp(a, b);
	return cpumask_equal(&m, &n);
}

bool knob_same_cpulist(const char *a, const char *b)
{
	return same_mask(cpumask_parse_list, a, b);
}

static bool same_cpuhex(const char *a, const char *b)
{
	return same_mask(cpumask_parse_hex, a, b);
}

const struct knob_type knob_text_file = {
	.name = "text-file",
	.read = knob_file_read,
	.write = knob_file_write,
};

const struct knob_type knob_number_file = {
	.name = "number-file",
	.read = knob_file_read,
	.write = knob_file_write,
	.same = knob_same_number,
};

const struct knob_type knob_cpulist_file = {
	.name = "cpulist-file",
	.read = knob_file_read,
	.write = knob_file_write,
	.same = knob_same_cpulist,
};

const struct knob_type knob_cpuhex_file = {
	.name = "cpuhex-file",
	.read = knob_file_read,
	.write = knob_file_write,
	.same = same_cpuhex,
};
