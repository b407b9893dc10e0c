/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU's counter as a clock: how long a step is, and how far it is to be believed.
 *
 * Lengths are measured in steps of the counter and converted at the end, by the kernel's own
 * conversion where it is to be had and else by a line fitted over the whole run: a calibration over
 * a fraction of a millisecond, rounded to MHz, is wrong by up to 1 in 300.
 * Nothing here is shared between threads.
 */
#ifndef PROBE_CLOCK_H
#define PROBE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ns = steps * mult / 2^shift, in 128 bits. */
struct clock_scale {
	uint64_t mult;
	unsigned int shift;
};

uint64_t clock_ns(const struct clock_scale *scale, uint64_t steps);
uint64_t clock_steps(const struct clock_scale *scale, uint64_t ns);
/* Steps a second. */
double clock_hz(const struct clock_scale *scale);

/* One moment on both clocks: the counter, and CLOCK_MONOTONIC read between two reads of it. */
struct clock_point {
	uint64_t steps; /* middle of the two */
	uint64_t ns;
	uint64_t width; /* steps between the two: what the point may be off by */
};

/* The narrowest of some tries. */
struct clock_point clock_now(void);
/* CLOCK_MONOTONIC at a counter value, seen from a point near it. */
uint64_t clock_at(const struct clock_scale *scale, const struct clock_point *point, uint64_t steps);

/*
 * The kernel's conversion: time_mult and time_shift of the page that perf_event_open(2) maps
 * (cap_user_time), for the CPU that the caller runs on. A CPU-wide event, as an event of the task
 * would make the kernel patch its code, on all CPUs and again a second after. Needs CAP_PERFMON
 * or kernel.perf_event_paranoid <= 0. 0, or -errno.
 */
int clock_kernel_scale(struct clock_scale *scale);

/*
 * The line through the first and the last of n points in ascending order. off_ns: how far the worst
 * of the others is from it, beyond what the widths explain. -EINVAL: less than two points, or one
 * of the clocks did not advance.
 */
int clock_fit(struct clock_scale *scale, const struct clock_point *points, size_t n,
              uint64_t *off_ns);
/* clock_fit() of a wait of a millisecond: a first idea, to 1 in 1,000 or better. */
int clock_fit_quickly(struct clock_scale *scale);

/* What back-to-back reads show, in steps. */
struct clock_quality {
	uint64_t granularity; /* the most frequent difference that is not 0 */
	uint64_t median;      /* of the differences: half of the time for two reads */
	double read_cost;     /* mean of the shorter nine tenths */
	uint64_t backwards;   /* reads that were before the one before */
};

#define CLOCK_READS          4096
#define CLOCK_INTERCEPTED_NS 200 /* a read that takes longer leaves the guest */

/* reads: of n counter values in the order in which they were read, n >= 2. Overwrites them. */
struct clock_quality clock_judge(uint64_t *reads, size_t n);
/* clock_judge() of CLOCK_READS reads here and now. */
struct clock_quality clock_examine(void);

#endif
