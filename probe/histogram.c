/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "histogram.h"

#define LINEAR 128u /* up to here a bucket is one value */

unsigned int histogram_index(uint64_t value)
{
	unsigned int log2;

	if (value < LINEAR)
		return (unsigned int)value;
	log2 = 63 - (unsigned int)__builtin_clzll(value);
	if (log2 >= HISTOGRAM_TOP)
		return HISTOGRAM_BUCKETS - 1;
	return (log2 - 6) * HISTOGRAM_SUB + (unsigned int)(value >> (log2 - 6));
}

uint64_t histogram_low(unsigned int index)
{
	unsigned int octave;

	if (index < LINEAR)
		return index;
	if (index >= HISTOGRAM_BUCKETS)
		return UINT64_MAX;
	octave = index / HISTOGRAM_SUB - 1;
	return (uint64_t)(HISTOGRAM_SUB + index % HISTOGRAM_SUB) << octave;
}

void histogram_add(struct histogram *h, uint64_t value)
{
	struct histogram_bucket *bucket = &h->buckets[histogram_index(value)];

	bucket->n++;
	bucket->sum += value;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++) {
		into->buckets[i].n += from->buckets[i].n;
		into->buckets[i].sum += from->buckets[i].sum;
	}
}

struct histogram_bucket histogram_total(const struct histogram *h, unsigned int from)
{
	struct histogram_bucket total = { 0, 0 };

	for (unsigned int i = from; i < HISTOGRAM_BUCKETS; i++) {
		total.n += h->buckets[i].n;
		total.sum += h->buckets[i].sum;
	}
	return total;
}

/* One value that stands for all of a bucket: itself if it is alone, else the middle. */
static uint64_t representative(const struct histogram *h, unsigned int index)
{
	const struct histogram_bucket *bucket = &h->buckets[index];
	uint64_t low = histogram_low(index);

	if (bucket->n == 1 || index == HISTOGRAM_BUCKETS - 1)
		return bucket->sum / bucket->n;
	return low + (histogram_low(index + 1) - 1 - low) / 2;
}

static uint64_t clamp(uint64_t value, uint64_t min, uint64_t max)
{
	if (value < min)
		return min;
	return value < max ? value : max;
}

uint64_t histogram_quantile(const struct histogram *h, uint64_t n, double part, uint64_t min,
                            uint64_t max)
{
	/* How many are larger: counted down from the top, as n need not end with a bucket. */
	uint64_t larger = (uint64_t)((1 - part) * (double)n), seen = 0;

	if (!n)
		return 0;
	if (larger >= n)
		larger = n - 1;
	for (unsigned int i = HISTOGRAM_BUCKETS; i-- > 0;) {
		seen += h->buckets[i].n;
		if (seen > larger)
			return clamp(representative(h, i), min, max);
	}
	return 0;
}
