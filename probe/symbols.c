/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbols.h"

#include <inttypes.h>

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static bool is_function(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/* Takes "ADDRESS TYPE NAME[\t[MODULE]]"; what is not such a line is passed over. */
static void take_line(struct symbols *symbols, char *line)
{
	char *end;
	uint64_t address = strtoull(line, &end, 16);

	if (end == line || !address || end[0] != ' ' || !is_function(end[1]) || end[2] != ' ')
		return;
	line = end + 3;
	line[strcspn(line, "\t ")] = '\0';
	symbols->list =
		xgrow(symbols->list, symbols->n + 1, &symbols->room, sizeof(*symbols->list));
	symbols->list[symbols->n++] =
		(struct symbol){ .address = address, .name = (size_t)(line - symbols->text) };
}

void symbols_load(struct symbols *symbols)
{
	if (symbols->loaded)
		return;
	symbols->loaded = true;
	if (sysroot_read_limit(symbols->root, "/proc/kallsyms", SYSROOT_BIG, &symbols->text, NULL))
		return;
	for (char *line = symbols->text, *next; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		take_line(symbols, line);
	}
	qsort(symbols->list, symbols->n, sizeof(*symbols->list), by_address);
}

const char *symbols_name(struct symbols *symbols, uint64_t address)
{
	struct symbol key = { .address = address };
	const struct symbol *found;

	if (!address)
		return NULL;
	symbols_load(symbols);
	if (!symbols->n)
		return NULL;
	found = bsearch(&key, symbols->list, symbols->n, sizeof(key), by_address);
	return found ? symbols->text + found->name : NULL;
}

void symbols_free(struct symbols *symbols)
{
	free(symbols->list);
	free(symbols->text);
	*symbols = (struct symbols){ .root = symbols->root };
}
