/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the ticks of the command's threads are in the record (record.h): behind it a slot for each
 * of RECORD_TICKS threads, large and mostly never touched. A thread that begins to tick maps its
 * own, so that no program pays for slots by mlockall(2) that it does not use.
 */
#ifndef PROBE_TICK_SLOT_H
#define PROBE_TICK_SLOT_H

#include "record.h"
#include "tick.h"

/* The pointers in it are the library's own, and nobody else's business. */
struct tick_slot {
	struct tick_record record;
	struct gap_ring ring;
};

#define TICK_SLOT_ALIGN    65536u /* the largest page */
#define TICK_SLOT_ROUND(n) (((n) + TICK_SLOT_ALIGN - 1) / TICK_SLOT_ALIGN * TICK_SLOT_ALIGN)
#define TICK_SLOT_SIZE     TICK_SLOT_ROUND(sizeof(struct tick_slot))
#define TICK_SLOTS_AT      TICK_SLOT_ROUND(sizeof(struct record))
#define RECORD_SIZE        (TICK_SLOTS_AT + RECORD_TICKS * TICK_SLOT_SIZE)

#endif
