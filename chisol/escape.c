/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "escape.h"

#include "../isolcore/mem.h"

#include <locale.h>
#include <stdbool.h>
#include <wchar.h>
#include <wctype.h>

#define ESCAPE_MAX 4 /* bytes that one byte may become: \xHH */

static char *escape_byte(char *out, unsigned char byte)
{
	static const char hex[] = "0123456789abcdef";

	*out++ = '\\';
	switch (byte) {
	case '\n':
		*out++ = 'n';
		break;
	case '\t':
		*out++ = 't';
		break;
	case '\r':
		*out++ = 'r';
		break;
	default:
		*out++ = 'x';
		*out++ = hex[byte >> 4];
		*out++ = hex[byte & 15];
	}
	return out;
}

/* The bytes of the first character, and its columns on a terminal: 0 if it is not to get there. */
static size_t measure_char(const char *text, size_t left, int *columns)
{
	mbstate_t state = { 0 };
	wchar_t wc;
	size_t n;

	/* Most text is ASCII, and plans are long. */
	*columns = *text >= 0x20 && *text < 0x7f;
	if ((unsigned char)*text < 0x80)
		return 1;
	/* Loading the locale takes a good part of a short launch, and few texts need it. */
	if (!strcmp(setlocale(LC_CTYPE, NULL), "C"))
		setlocale(LC_CTYPE, "");
	n = mbrtowc(&wc, text, left, &state);
	if (n == (size_t)-1 || n == (size_t)-2 || n == 0)
		return 1;
	if (iswprint((wint_t)wc) && wcwidth(wc) > 0)
		*columns = wcwidth(wc);
	return n;
}

char *escape_text(const char *text)
{
	size_t left = text ? strlen(text) : 0;
	char *escaped = xcalloc(left + 1, ESCAPE_MAX), *out = escaped;

	while (left) {
		int columns;
		size_t n = measure_char(text, left, &columns);

		for (size_t i = 0; i < n; i++) {
			if (columns)
				*out++ = text[i];
			else
				out = escape_byte(out, (unsigned char)text[i]);
		}
		text += n;
		left -= n;
	}
	return escaped;
}

static bool word_is_plain(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_@%+=:,./-";

	return *word && !word[strspn(word, plain)];
}

char *escape_command(char *const *argv)
{
	size_t room = 1;
	char *line, *out;

	for (char *const *arg = argv; *arg; arg++)
		room += ESCAPE_MAX * strlen(*arg) + sizeof("'' ");
	line = out = xcalloc(room, 1);
	for (char *const *arg = argv; *arg; arg++) {
		_cleanup_free_ char *word = escape_text(*arg);
		bool plain = word_is_plain(*arg);

		if (arg != argv)
			*out++ = ' ';
		if (!plain)
			*out++ = '\'';
		for (const char *c = word; *c; c++) {
			if (*c == '\'')
				out = stpcpy(out, "'\\'");
			*out++ = *c;
		}
		if (!plain)
			*out++ = '\'';
	}
	return line;
}

/* The columns of the first len bytes of an escaped text. */
static int width_of(const char *text, size_t len)
{
	int width = 0;

	while (len) {
		int columns;
		size_t n = measure_char(text, len, &columns);

		width += columns;
		text += n;
		len -= n;
	}
	return width;
}

static char *__attribute__((format(printf, 1, 0))) escape_format(const char *fmt, va_list ap)
{
	_cleanup_free_ char *raw = xvasprintf(fmt, ap);

	return escape_text(raw);
}

void escape_print(FILE *out, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = escape_format(fmt, ap);
	va_end(ap);
	fputs(text, out);
}

void escape_fold(FILE *out, int column, int indent, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = escape_format(fmt, ap);
	va_end(ap);
	for (const char *word = text; *word;) {
		size_t len = strcspn(word, " ");
		int width = width_of(word, len);

		if (word != text && column + 1 + width > ESCAPE_COLUMNS) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		} else if (word != text) {
			putc(' ', out);
			column++;
		}
		fwrite(word, 1, len, out);
		column += width;
		word += len + (word[len] == ' ');
	}
	putc('\n', out);
}
