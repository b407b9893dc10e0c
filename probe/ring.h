/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ring that the kernel writes the trace events of one CPU to (perf_event_open(2)), mapped into
 * this process. Reading it is reading memory: no system call, nothing on the CPU that is watched.
 *
 * The ring is not overwritten: what does not fit is lost, and told (PERF_RECORD_LOST). The kernel
 * wakes readers at the latest when as many bytes as the ring holds have been written
 * (kernel/events/ring_buffer.c), by one interrupt work on the CPU itself; so a ring is to be larger
 * than what a run writes, or costs one such interrupt each time around.
 */
#ifndef PROBE_RING_H
#define PROBE_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "../isolcore/error.h"
#include "monotonic.h"

struct ring {
	int fd; /* of the event that the ring belongs to; events are added with ring_add() */
	unsigned int cpu;
	struct perf_event_mmap_page *page; /* and the data after it */
	size_t size;                       /* of the data, a power of two */
	uint64_t tail;                     /* all before is read */
	void *record;                      /* one that was in two pieces, put together */
};
#define RING_INIT        \
	{                \
		.fd = -1 \
	}

/* The fields that every event of a ring has (attr.sample_type), and the clock. */
#define RING_SAMPLE_TYPE (PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)

/* One record of the ring; valid until the next. */
struct ring_record {
	uint32_t type; /* PERF_RECORD_ */
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	const void *data;
	uint32_t size;           /* of data */
	uint64_t lost;           /* PERF_RECORD_LOST */
	uint32_t pid, tid, ptid; /* PERF_RECORD_FORK: the child, and its parent's thread */
	uint32_t ppid;
};

/*
 * Opens the ring of a CPU with its first event, one that counts nothing and tells of new tasks.
 * size: bytes, rounded up to a power of two of pages. Then events are added, which write to the
 * ring; ring_add() returns a descriptor or -errno. All begin with ring_enable(): as a group, so
 * that the CPU is interrupted once for all of them, not once for each (perf_install_in_context(),
 * kernel/events/core.c).
 */
int ring_open(struct ring *ring, unsigned int cpu, size_t size, struct error *err);
int ring_add(const struct ring *ring, uint64_t tracepoint);
int ring_enable(const struct ring *ring);
/* Opens an event that counts nothing and writes nowhere, and has the kernel's text patched for it
 * all the same. Returns its descriptor or -errno. */
int ring_hold(unsigned int cpu, uint64_t tracepoint);
void ring_close(struct ring *ring);

/*
 * Calls fn for each record from *cursor up to the first that is not older than the horizon, and
 * moves the cursor behind the last. Records before ring->tail must not be asked for.
 */
typedef void ring_fn(void *ctx, const struct ring *ring, const struct ring_record *record);
void ring_read(struct ring *ring, uint64_t *cursor, uint64_t horizon, ring_fn *fn, void *ctx);
/* Gives everything before the cursor back to the kernel. */
void ring_consume(struct ring *ring, uint64_t cursor);
/* Is there so little room that the kernel may just have lost a record? */
bool ring_is_full(const struct ring *ring);

#endif
