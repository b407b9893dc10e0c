/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's function names by address (/proc/kallsyms), read when the first name is asked for.
 * Where the kernel hides addresses (kernel.kptr_restrict, no CAP_SYSLOG) there are no names.
 */
#ifndef PROBE_SYMBOLS_H
#define PROBE_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "../isolcore/sysroot.h"

struct symbol {
	uint64_t address;
	size_t name; /* offset in text */
};

struct symbols {
	const struct sysroot *root;
	bool loaded;
	struct symbol *list; /* in ascending order */
	size_t n, room;
	char *text;
};

/* Reads them now (about 0.1 s), for who cannot wait later. */
void symbols_load(struct symbols *symbols);
/* The function that begins at the address, or NULL. Lives as long as the table. */
const char *symbols_name(struct symbols *symbols, uint64_t address);
void symbols_free(struct symbols *symbols);

#endif
