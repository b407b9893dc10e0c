/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gap_ring.h"

void gap_ring_put(struct gap_ring *ring, const struct tick_gap *gap)
{
	uint64_t head = ring->head;

	if (head - __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE) >= GAP_RING) {
		__atomic_store_n(&ring->lost, ring->lost + 1, __ATOMIC_RELAXED);
		return;
	}
	ring->gaps[head % GAP_RING] = *gap;
	__atomic_store_n(&ring->head, head + 1, __ATOMIC_RELEASE);
}

bool gap_ring_peek(struct gap_ring *ring, struct gap_reader *reader, struct tick_gap *gap)
{
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

	/* No writer of ours does that. */
	if (head - reader->taken > GAP_RING) {
		reader->lost++;
		reader->taken = head;
		__atomic_store_n(&ring->tail, head, __ATOMIC_RELEASE);
	}
	if (head == reader->taken)
		return false;
	*gap = ring->gaps[reader->taken % GAP_RING];
	return true;
}

bool gap_ring_empty(const struct gap_ring *ring, const struct gap_reader *reader)
{
	return __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) == reader->taken;
}

void gap_ring_take(struct gap_ring *ring, struct gap_reader *reader)
{
	__atomic_store_n(&ring->tail, ++reader->taken, __ATOMIC_RELEASE);
}
