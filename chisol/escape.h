/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Printing text that others wrote: names from /proc, values, paths, arguments. A terminal must show
 * it and do nothing else.
 *
 * What the character set of the environment's locale, which is loaded here when it is first needed,
 * does not have, what is not printable and what has no width (control characters, escape sequences,
 * bidirectional overrides) comes out as \n, \t, \r or \xHH for each byte. A backslash stays as it
 * is: this is for people. The caller frees the result.
 */
#ifndef CHISOL_ESCAPE_H
#define CHISOL_ESCAPE_H

#include <stdio.h>

char *escape_text(const char *text); /* NULL gives "" */
/* An argument vector as one line: arguments that sh would take apart are in single quotes. */
char *escape_command(char *const *argv);
/* Prints like printf(3), escaped: what is to be on one line stays on it. */
void escape_print(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same from a column on, folded at spaces to ESCAPE_COLUMNS, with further lines indented, and
 * with a newline at the end. */
void escape_fold(FILE *out, int column, int indent, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#define ESCAPE_COLUMNS 100

#endif
