/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is behind isolprobe_tick(): the record of one thread, in steps of the counter. Steps are
 * what other sources of the same counter (the kernel's trace clock) can be joined with; they become
 * nanoseconds when the run is over.
 *
 * A record belongs to the thread that began it until tick_take() hands it over. All memory is
 * there, touched, before the first tick. Under chisol the record is in memory that chisol reads
 * (tick_slot.h); a child of fork() has none. Whether the thread was taken off its CPU is told by
 * rseq.h, and where that is not known by the count of context switches alone.
 */
#ifndef PROBE_TICK_H
#define PROBE_TICK_H

#include <stdbool.h>

#include "clock.h"
#include "gap_ring.h"
#include "histogram.h"
#include "isolprobe.h"
#include "rseq.h"
#include "worst.h"

/* Of the breaks of one class. */
struct tick_total {
	uint64_t n, length, max;
};

#define TICK_LEARN 1024 /* passes to know the loop from */

struct tick_options {
	uint64_t threshold_ns;           /* 0: to be found */
	const struct clock_scale *scale; /* NULL: to be found */
	uint32_t n_worst, n_first;       /* how many gaps to keep */
	struct gap_ring *ring;           /* where breaks go as well; NULL: nowhere */
	bool alone;                      /* not told to chisol */
};

enum tick_stage {
	TICK_LEARNS_LOOP,   /* every pass is looked at, and kept to be judged at the end of it */
	TICK_LEARNS_VALLEY, /* breaks are counted by a guess until there is a threshold */
	TICK_MEASURES,
};

struct tick_record {
	/* Read by others while the thread runs: tick_progress(). */
	uint64_t n_breaks, max;

	enum tick_stage stage;
	uint64_t limit;       /* a pass that is longer is recorded */
	uint64_t blind_limit; /* a stay in the probe that is longer is a gap as well */
	uint64_t threshold;   /* of a gap that is a break; the lower end of a bucket if found */
	uint64_t loop;        /* the median pass */
	uint64_t shortest;    /* pass while the loop was learnt */
	uint64_t min;         /* the shortest break */

	struct rseq_area *rseq; /* or NULL */
	uint64_t switches;

	uint64_t begin, end;  /* counter */
	uint64_t ticks;       /* passes, and those gaps that were in the probe itself */
	uint64_t busy;        /* blind */
	uint64_t backwards;   /* steps back of the counter */
	uint64_t quiet_since; /* end of the last break */
	uint64_t quiet;       /* the longest stretch without */
	uint32_t entries;     /* into the probe */
	uint32_t cpu, end_cpu;
	bool scale_is_final; /* given, or the kernel's; else fitted at the end */
	struct clock_scale scale;
	struct clock_point begin_point, end_point;

	struct histogram by_class[ISOLPROBE_CLASSES]; /* all gaps over the limit */
	struct tick_total breaks[ISOLPROBE_CLASSES];
	struct histogram learning;
	struct tick_gap learnt[TICK_LEARN];
	uint32_t n_learnt;

	struct worst worst; /* of struct tick_gap; after tick_take() the longest first */
	struct tick_gap *first;
	uint32_t n_first, room_first;
	struct gap_ring *rings[2]; /* the caller's, and chisol's */
	void *lists; /* memory of these two, and of the record itself if it has no slot */
	size_t lists_size;
	struct record_tick *claim; /* of the slot that the record is in, or NULL */
};

/* As isolprobe_begin(). */
int tick_begin(struct isolprobe *probe, const struct tick_options *options);
/* The calling thread's record, or NULL. */
struct tick_record *tick_current(void);
static inline const struct tick_gap *tick_worst(const struct tick_record *record)
{
	return record->worst.elements;
}
/* Ends and hands over the record; NULL if nothing had begun. */
struct tick_record *tick_take(const struct isolprobe *probe);
void tick_free(struct tick_record *record);

/* Breaks and the longest gap (steps) so far; from any thread while the owner runs. */
void tick_progress(const struct tick_record *record, uint64_t *n_breaks, uint64_t *max);

#endif
