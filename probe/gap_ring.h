/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gaps on their way out of the thread that ticks: a ring with one writer and one reader, which may
 * be in another process and believes nothing that it finds. The writer never waits: what does not
 * fit is counted. Without a gap nobody touches the ring.
 */
#ifndef PROBE_GAP_RING_H
#define PROBE_GAP_RING_H

#include <stdbool.h>
#include <stdint.h>

/* A pass of the loop that took too long. */
struct tick_gap {
	uint64_t length; /* steps, without the usual pass; first, as worst.h has it */
	uint64_t start;  /* counter at the last tick before it */
	uint32_t cpu;    /* after it */
	uint32_t what;   /* enum isolprobe_class */
};

/* A power of two: 80,000 gaps a second, if it is read five times a second. */
#define GAP_RING 16384u

struct gap_ring {
	uint64_t head; /* gaps ever put in */
	uint64_t tail; /* gaps ever taken out */
	uint64_t lost; /* for which there was no room */
	/* In steps, and not 0 once they are settled: before that gaps may come that turn out to be
	 * shorter than the threshold. */
	uint64_t threshold;
	uint64_t loop;  /* the usual pass, which lengths are without */
	uint64_t blind; /* after a gap; what is shorter than that is not noticed there */
	struct tick_gap gaps[GAP_RING];
};

void gap_ring_put(struct gap_ring *ring, const struct tick_gap *gap);

/* The reader's own account, as the ring's may be written by others. */
struct gap_reader {
	uint64_t taken;
	uint64_t lost; /* times that the writer has overwritten what was not taken, and nonsense */
};

/* The next gap, which stays there until gap_ring_take(). False: there is none. */
bool gap_ring_peek(struct gap_ring *ring, struct gap_reader *reader, struct tick_gap *gap);
bool gap_ring_empty(const struct gap_ring *ring, const struct gap_reader *reader);
void gap_ring_take(struct gap_ring *ring, struct gap_reader *reader);

#endif
