/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The library's side of the record: finds it before main(), and takes the traces of that out of the
 * process: the descriptor is closed, the variables are gone, so that whatever the program starts,
 * and whoever closes all descriptors, neither sees nor breaks it.
 *
 * A child of fork(), by whatever system call, has no record: the pointer to it is in memory that
 * the kernel clears there (MADV_WIPEONFORK, Linux 4.14), and the record itself is not inherited.
 */
#ifndef PROBE_ATTACH_H
#define PROBE_ATTACH_H

#include "tick_slot.h"

/* The record of this process; NULL without chisol, and in children. Async-signal-safe, cheap. */
struct record *attached_record(void);

/* Maps the i-th slot for ticks, to be unmapped (TICK_SLOT_SIZE); NULL: it cannot be had. */
struct tick_slot *attached_slot(unsigned int i);

#endif
