/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "threshold.h"

#include <stddef.h>

#define STEPS_MAX 200 /* from 1 to 2^63 in steps of a quarter */

/* The spectrum between low and high in steps of a quarter more, each beginning with a bucket. */
struct spectrum {
	unsigned int edges[STEPS_MAX + 1]; /* bucket numbers */
	uint64_t counts[STEPS_MAX];
	size_t n;
};

static void look(struct spectrum *s, const struct histogram *gaps, uint64_t low, uint64_t high)
{
	unsigned int end = histogram_index(high);

	s->n = 0;
	s->edges[0] = histogram_index(low ? low : 1);
	while (s->edges[s->n] < end && s->n < STEPS_MAX) {
		uint64_t edge = histogram_low(s->edges[s->n]);
		unsigned int next = histogram_index(edge + (edge < 4 ? 1 : edge / 4));

		s->counts[s->n] = 0;
		for (unsigned int i = s->edges[s->n]; i < next; i++)
			s->counts[s->n] += gaps->buckets[i].n;
		s->edges[++s->n] = next;
	}
}

uint64_t threshold_place(const struct histogram *gaps, uint64_t low, uint64_t high)
{
	struct spectrum s;
	size_t middle = 0, longest = 0, length = 0;
	uint64_t least = UINT64_MAX;

	look(&s, gaps, low, high);
	for (size_t i = 0; i < s.n; i++)
		if (s.counts[i] < least)
			least = s.counts[i];
	/* The longest run of steps that are as good as empty: a few stray gaps do not end it. */
	for (size_t i = 0; i < s.n; i++) {
		length = s.counts[i] <= 2 * least + 2 ? length + 1 : 0;
		if (length > longest) {
			longest = length;
			middle = i + 1 - length / 2;
		}
	}
	return histogram_low(s.edges[middle]);
}
