/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A log-linear histogram of counter steps: exact up to 127, then 64 buckets for each power of two.
 * The middle of a bucket is within 0.8 % of all that is in it. 2^40 steps (220 s at 5 GHz) and more
 * are counted in the last bucket. Plain memory, no allocation, one writer.
 */
#ifndef PROBE_HISTOGRAM_H
#define PROBE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_SUB     64u /* buckets for each power of two */
#define HISTOGRAM_TOP     40u /* log2 of where the last bucket begins */
#define HISTOGRAM_BUCKETS ((HISTOGRAM_TOP - 5) * HISTOGRAM_SUB + 1)

struct histogram_bucket {
	uint64_t n, sum;
};

struct histogram {
	struct histogram_bucket buckets[HISTOGRAM_BUCKETS];
};

unsigned int histogram_index(uint64_t value);
/* The lowest value of a bucket; that of HISTOGRAM_BUCKETS is UINT64_MAX. */
uint64_t histogram_low(unsigned int index);

void histogram_add(struct histogram *h, uint64_t value);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* Number and sum of what is in the buckets from a given one on. */
struct histogram_bucket histogram_total(const struct histogram *h, unsigned int from);
/* The value that a part (0 to 1) of the n largest values does not exceed, within 1 %; 0 if n is 0.
 * The caller may know the shortest and the longest of them exactly: it is never beyond these. */
uint64_t histogram_quantile(const struct histogram *h, uint64_t n, double part, uint64_t min,
                            uint64_t max);

#endif
