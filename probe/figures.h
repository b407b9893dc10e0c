/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a loop measured, in nanoseconds: the figures that all forms of all reports share. */
#ifndef PROBE_FIGURES_H
#define PROBE_FIGURES_H

#include "stats.h"
#include "tick.h"

extern const char *const class_names[ISOLPROBE_CLASSES]; /* for people */
extern const char *const class_keys[ISOLPROBE_CLASSES];  /* for programs */

/* Percentiles of the breaks, as sysjitter has them. */
#define N_PERCENTILES 6
extern const struct percentile {
	double part;
	const char *key; /* "99.9" */
} percentiles[N_PERCENTILES];

struct class_figures {
	uint64_t n, total_ns, max_ns;
};

struct figures {
	unsigned int cpu;
	uint64_t loops, elapsed_ns, busy_ns;
	uint64_t counted_from_ns; /* shorter gaps were not looked at one by one */
	double coverage;          /* part of the time that the probe was not blind, 0 to 1 */
	double loop_mean_ns;      /* true mean: time by loops */
	double loop_quiet_ns;     /* the same without breaks and the probe itself */
	uint64_t loop_median_ns, loop_min_ns;
	uint64_t
		longest_ns; /* of all passes, loop included; if none was a gap, what it was under */
	uint64_t n, total_ns, min_ns, max_ns; /* of the breaks; min and max are 0 without any */
	struct rate rate;
	uint64_t quiet_ns; /* the longest stretch without a break */
	uint64_t percentiles_ns[N_PERCENTILES];
	struct class_figures by_class[ISOLPROBE_CLASSES];
	struct histogram all; /* of all gaps, in steps */
};

/* r: of a loop that has ended; cpu: the one that it was on. */
void figures_make(struct figures *f, const struct tick_record *r, unsigned int cpu);

#endif
