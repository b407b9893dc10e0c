/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The measurement of isolprobe: one thread in a tick loop on each CPU, and the calling thread,
 * which controls them, elsewhere.
 */
#ifndef PROBE_CMD_MEASURE_H
#define PROBE_CMD_MEASURE_H

#include <time.h>

#include "../../isolcore/machine.h"
#include "../clock.h"
#include "../tick.h"
#include "causes.h"

#define CLOCK_POINTS 64

struct measured {
	unsigned int cpu;
	struct tick_record *record;
	struct clock_quality clock;
	bool has_run_delay;
	uint64_t run_delay_ns; /* the scheduler's own account of the time that others ran */
};

/* Why not to believe all of it: bits of run.doubts. */
enum doubt {
	DOUBT_BACKWARDS,
	DOUBT_UNSTABLE,
	DOUBT_INTERCEPTED,
	DOUBT_MIGRATED,
	DOUBTS
};

struct run {
	struct cpumask cpus, control; /* measured; where the control thread was */
	struct measured *measured;    /* one for each of cpus, in ascending order */
	size_t n_measured;
	time_t start, end; /* of day */
	bool interrupted;  /* ended by a signal */
	bool unlocked;     /* mlockall(2) was refused */
	struct clock_scale scale;
	bool scale_is_kernels;
	uint64_t skew_ns; /* how far the counters of the CPUs are apart, beyond what is noise */
	uint64_t threshold_ns;
	unsigned int doubts;
	struct causes causes;
};

#define RUN_INIT             \
	{                    \
		.doubts = 0, \
	}

/* Called once a second or so by the control thread; n_breaks and max_ns of all CPUs so far. */
typedef void (*progress_fn)(uint64_t elapsed_ns, uint64_t duration_ns, uint64_t n_breaks,
                            uint64_t max_ns);

/* Measures; progress may be NULL. Ended early by SIGINT, SIGTERM or SIGHUP, unless ignored. */
int measure(struct run *run, const struct arguments *args, const struct system *sys,
            progress_fn progress, struct error *err);
void run_free(struct run *run);
#define _cleanup_run_ _cleanup_(run_free)

#endif
