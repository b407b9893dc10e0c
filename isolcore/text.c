/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "text.h"

#include <limits.h>
#include <stdint.h>

#define SHOWN_MAX 60

char *text_quote(const char *text)
{
	char *shown = NULL;
	size_t size = 0, n = 0;
	FILE *out = xopen_memory(&shown, &size);

	fputc('"', out);
	for (; n < SHOWN_MAX && text[n]; n++) {
		unsigned char c = (unsigned char)text[n];

		if (c < 0x20 || c >= 0x7f)
			fprintf(out, "\\x%02x", c);
		else
			fputc(c, out);
	}
	fputs(text[n] ? "...\"" : "\"", out);
	xclose_memory(out);
	return shown;
}

bool text_unsigned(const char *text, unsigned long long *value)
{
	unsigned long long n = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		unsigned int digit = (unsigned int)(*text - '0');

		if (*text < '0' || *text > '9')
			return false;
		n = n > (ULLONG_MAX - digit) / 10 ? ULLONG_MAX : n * 10 + digit;
	}
	*value = n;
	return true;
}

char *text_trim(const char *text, size_t len)
{
	while (len && (*text == ' ' || *text == '\t')) {
		text++;
		len--;
	}
	while (len && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		len--;
	return xstrndup(text, len);
}

/* Levenshtein's distance, one row at a time. */
static size_t distance(const char *a, const char *b)
{
	size_t row[SHOWN_MAX + 1];
	size_t n = strlen(b);

	if (n > SHOWN_MAX || strlen(a) > SHOWN_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t cost = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < cost)
				cost = row[j] + 1;
			if (row[j - 1] + 1 < cost)
				cost = row[j - 1] + 1;
			row[j] = cost;
		}
	}
	return row[n];
}

void nearest_try(struct nearest *n, const char *candidate)
{
	size_t d = distance(n->word, candidate);

	if (!n->best || d < n->distance) {
		n->best = candidate;
		n->distance = d;
	}
}

const char *nearest_word(const struct nearest *n)
{
	return n->best && n->distance <= (strlen(n->best) + 1) / 3 ? n->best : NULL;
}
