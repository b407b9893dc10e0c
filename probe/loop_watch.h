/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loops of the command that call isolprobe_tick(), as chisol sees them through the record: each
 * thread's time between isolprobe_begin() and isolprobe_end(), its gaps as they come, and its
 * figures when it has ended, or as far as it came. With a watch the gaps are joined with the
 * kernel's events.
 *
 * All that is read was written by the command: copies, checked, with none of its pointers.
 */
#ifndef PROBE_LOOP_WATCH_H
#define PROBE_LOOP_WATCH_H

#include "gap_watch.h"
#include "record_keep.h"
#include "tick.h"

#define LOOPS_MAX 4096u /* that are told of; a program may begin and end without end */

struct loop {
	unsigned int slot;
	uint32_t round;
	pid_t tid;
	char name[16];                 /* "" if it was gone */
	unsigned long long start_time; /* of the thread, as process.h has it; 0: it was gone */
	uint64_t began;                /* CLOCK_MONOTONIC, ns */
	bool ended;                    /* by isolprobe_end() */
	bool collected;                /* record is all that there will be */
	struct gap_feed feed;
	struct tick_record *record; /* a copy; NULL as yet, or if what it left makes no sense */
};

struct loop_watch {
	const struct record_keep *keep;
	const struct system *sys;
	bool joins;
	struct gap_watch gaps; /* if it joins */
	struct loop *loops;
	size_t n_loops, room;
	uint64_t omitted; /* beyond LOOPS_MAX */
};

/* watch: NULL if there is none; open, and the caller's. keep: gaps, as join_init(). */
void loop_watch_open(struct loop_watch *lw, const struct system *sys,
                     const struct record_keep *record, struct trace_watch *watch,
                     const struct cpumask *cpus, size_t keep);
/* In place of trace_watch_read() and trace_watch_finish(). From the first loop's begin on the
 * watch counts breaks; what was before is start-up. */
void loop_watch_read(struct loop_watch *lw);
void loop_watch_finish(struct loop_watch *lw, uint64_t time);
/* Loops that are not among these: there was no slot for them, or there were too many. */
uint64_t loop_watch_omitted(const struct loop_watch *lw);
void loop_watch_free(struct loop_watch *lw);

#endif
