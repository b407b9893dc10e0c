/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock of all times of the probe: CLOCK_MONOTONIC, in ns. The kernel's records have it, too.
 */
#ifndef PROBE_MONOTONIC_H
#define PROBE_MONOTONIC_H

#include <stdint.h>
#include <time.h>

static inline uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
