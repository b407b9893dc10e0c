/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Printing text that others wrote: names from /proc, values, paths, arguments. A terminal must show
 * it and do nothing else.
 *
 * What the locale's character set does not have, what is not printable and what has no width
 * (control characters, escape sequences, bidirectional overrides) comes out as \n, \t, \r or \xHH
 * for each byte. A backslash stays as it is: this is for people. The caller frees the result.
 */
#ifndef CHISOL_ESCAPE_H
#define CHISOL_ESCAPE_H

char *escape_text(const char *text); /* NULL gives "" */
/* An argument vector as one line: arguments that sh would take apart are in single quotes. */
char *escape_command(char *const *argv);
/* Columns on a terminal of a text that went through escape_text(). */
int escape_width(const char *text);

#endif
