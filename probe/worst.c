/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worst.h"

#include <string.h>

static void *element(const struct worst *w, uint32_t at)
{
	return (char *)w->elements + at * w->size;
}

static uint64_t value(const void *e)
{
	uint64_t v;

	memcpy(&v, e, sizeof(v));
	return v;
}

static void sift_down(struct worst *w, uint32_t n, const void *moved)
{
	uint32_t at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < n && value(element(w, child + 1)) < value(element(w, child)))
			child++;
		if (child >= n || value(element(w, child)) >= value(moved))
			break;
		memcpy(element(w, at), element(w, child), w->size);
		at = child;
	}
	memcpy(element(w, at), moved, w->size);
}

bool worst_wants(const struct worst *w, uint64_t v)
{
	return w->n < w->room || (w->n && v > value(w->elements));
}

bool worst_add(struct worst *w, const void *added, void *out)
{
	if (w->n < w->room) {
		uint32_t at = w->n++;

		for (; at && value(element(w, (at - 1) / 2)) > value(added); at = (at - 1) / 2)
			memcpy(element(w, at), element(w, (at - 1) / 2), w->size);
		memcpy(element(w, at), added, w->size);
		return false;
	}
	memcpy(out, w->elements, w->size);
	sift_down(w, w->n, added);
	return true;
}

void worst_sort(struct worst *w)
{
	char least[WORST_ELEMENT], last[WORST_ELEMENT];

	for (uint32_t n = w->n; n > 1;) {
		n--;
		memcpy(least, w->elements, w->size);
		memcpy(last, element(w, n), w->size);
		sift_down(w, n, last);
		memcpy(element(w, n), least, w->size);
	}
}
