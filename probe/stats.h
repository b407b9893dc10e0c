/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be said of the rate at which rare things happen. */
#ifndef PROBE_STATS_H
#define PROBE_STATS_H

#include <stdint.h>

/* Events a second, and between which rates the true one is with 95 % confidence. */
struct rate {
	double per_second, low, high;
};

/*
 * Of n events that came independently of each other in a time (ns): the exact limits (Garwood 1936)
 * up to 100 events, Byar's approximation, then good to 0.1 %, beyond. Without any time all are 0.
 */
struct rate rate_poisson(uint64_t n, uint64_t elapsed_ns);

#endif
