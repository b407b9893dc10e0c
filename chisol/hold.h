/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The holder: a process that keeps the probe's trace events enabled and reads none of them. The
 * kernel patches its text when an event gets its first user and when it loses its last; as long as
 * the holder lives, no run of the probe is either.
 *
 * There is one for the machine. STATE_DIR/trace-hold says who it is: "PID START-TIME EVENTS".
 */
#ifndef CHISOL_HOLD_H
#define CHISOL_HOLD_H

#include "../isolcore/machine.h"

/* Holds until SIGTERM, SIGINT or SIGHUP (those that it was not started to ignore). Says on out, and
 * to NOTIFY_SOCKET (sd_notify(3)), when it is ready. -EBUSY: there is a holder already. */
int hold_trace(const struct system *sys, FILE *out, struct error *err);

/* The process that holds, 0 if there is none. n_events: how many it holds; may be NULL. */
pid_t hold_find(const struct system *sys, size_t *n_events);

#endif
