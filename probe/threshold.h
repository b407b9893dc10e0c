/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where to draw the line between what a loop does by itself (cache misses, a busy SMT sibling) and
 * what interrupts it. The lengths of gaps fall into two heaps with a valley between them: no entry
 * into the kernel is shorter than some hundred nanoseconds. The threshold goes into that valley.
 */
#ifndef PROBE_THRESHOLD_H
#define PROBE_THRESHOLD_H

#include "histogram.h"

/*
 * The threshold, between low and high, all in counter steps. It is the lower end of a bucket of the
 * histogram, so that the buckets from there on are exactly the gaps over it. With no gaps at all it
 * is in the (geometric) middle of low and high.
 */
uint64_t threshold_place(const struct histogram *gaps, uint64_t low, uint64_t high);

#endif
