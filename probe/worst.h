/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The worst of many, exactly: a heap of elements in memory of the caller's, the least on top. An
 * element of any type begins with the uint64_t that it is judged by.
 */
#ifndef PROBE_WORST_H
#define PROBE_WORST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORST_ELEMENT 256 /* bytes, at most */

struct worst {
	void *elements;
	size_t size; /* of one */
	uint32_t n, room;
};

/* Does it belong to the worst so far? */
bool worst_wants(const struct worst *worst, uint64_t value);
/* Takes one that is wanted. What it displaces is put into *out, and true returned. */
bool worst_add(struct worst *worst, const void *element, void *out);
/* The worst first; it is no heap after that. */
void worst_sort(struct worst *worst);

#endif
