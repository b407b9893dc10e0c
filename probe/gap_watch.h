/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watches a loop by its gaps and the CPUs it runs on by the kernel's events, and joins the two as
 * they come. Belongs to one thread, which is on none of these CPUs.
 */
#ifndef PROBE_GAP_WATCH_H
#define PROBE_GAP_WATCH_H

#include "clock_line.h"
#include "gap_ring.h"
#include "join.h"
#include "trace_watch.h"

/* One thread's gaps. */
struct gap_feed {
	struct gap_ring *ring;
	struct clock_point begin; /* of its CPU's clocks */
	struct gap_reader reader;
	uint64_t off; /* ns that its CPU's counter is apart from that of this thread, at begin */
	bool has_cpu;
	uint32_t cpu;       /* of the last gap */
	uint64_t last_end;  /* of the last gap, CLOCK_MONOTONIC */
	uint64_t end;       /* the same, counter */
	uint64_t lost;      /* gaps that found no room in the ring, or cannot have been there */
	uint64_t elsewhere; /* gaps on a CPU that is not watched */
};

struct gap_watch {
	struct trace_watch *watch;
	struct outside_watch outside;
	struct clock_line line;
	struct join join;
	uint64_t horizon;
	uint64_t *lost; /* records of each CPU, at the last look */
};

/* watch is open, not started, and stays the caller's. keep: as join_init(). */
void gap_watch_open(struct gap_watch *gw, struct trace_watch *watch, const struct cpumask *cpus,
                    size_t keep);
/*
 * A look: a point of both clocks, which is to be before the first gap the first time; then the
 * events up to now; then each feed; then what is complete is joined. Gaps of feeds that are not
 * looked at stay where they are.
 */
void gap_watch_point(struct gap_watch *gw);
void gap_watch_events(struct gap_watch *gw);
void gap_watch_feed(struct gap_watch *gw, struct gap_feed *feed);
void gap_watch_join(struct gap_watch *gw);
/* The last look is the same with these two, the first in place of trace_watch_finish(). */
void gap_watch_last_events(struct gap_watch *gw, uint64_t time);
void gap_watch_finish(struct gap_watch *gw);
void gap_watch_free(struct gap_watch *gw);

#endif
