/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What people write: showing it back safely, finding the word that they meant, reading numbers.
 */
#ifndef ISOLCORE_TEXT_H
#define ISOLCORE_TEXT_H

#include <stdbool.h>

#include "mem.h"

/* The text in double quotes, safe for a terminal (control and non-ASCII bytes as \xNN), cut after
 * 60 characters. The caller frees it. */
char *text_quote(const char *text);

/* Decimal digits and nothing else. A number that is too large reads as ULLONG_MAX. */
bool text_unsigned(const char *text, unsigned long long *value);

/* A copy without blanks around it. */
char *text_trim(const char *text, size_t len);

/*
 * The candidate that is nearest to a word: nearest_try() each, then nearest_word() is the best of
 * those near enough to be a slip of the finger (a third of its length), or NULL.
 */
struct nearest {
	const char *word;
	const char *best;
	size_t distance;
};
void nearest_try(struct nearest *n, const char *candidate);
const char *nearest_word(const struct nearest *n);

#endif
