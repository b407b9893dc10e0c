/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The causes of the gaps that isolprobe finds, where the kernel's events may be read. All of it
 * happens on the control thread.
 */
#ifndef PROBE_CMD_CAUSES_H
#define PROBE_CMD_CAUSES_H

#include "../gap_watch.h"
#include "arguments.h"

struct causes {
	bool known;
	char *unavailable; /* why they are not; NULL: nobody asked */
	struct trace_watch watch;
	struct gap_watch gaps;
	struct gap_feed *feeds; /* one for each measured CPU; rings owned */
	size_t n_feeds;
};

/*
 * Before the threads are started that measure: opening the events interrupts all CPUs some hundred
 * times. An error only where args says that the causes are required.
 */
int causes_open(struct causes *c, const struct arguments *args, const struct system *sys,
                const struct cpumask *cpus, struct error *err);
/* The ring for the gaps of the i-th CPU, or NULL. */
struct gap_ring *causes_ring(const struct causes *c, size_t i);
/* The loops are about to run; run; have ended. */
void causes_begin(struct causes *c);
void causes_poll(struct causes *c);
/* The i-th loop has begun, with this point of its CPU's clocks; has ended, at CLOCK_MONOTONIC. */
void causes_begin_window(struct causes *c, size_t i, const struct clock_point *begin);
void causes_end_window(struct causes *c, size_t i, uint64_t ns);
void causes_end(struct causes *c);
/* What became of a gap of the i-th CPU, if that is known. */
const struct join_gap *causes_find(const struct causes *c, size_t i, const struct tick_gap *gap);
void causes_free(struct causes *c);

#endif
