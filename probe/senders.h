/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is behind what hits a watched CPU: who sent an interrupt or a function to run there, who
 * armed a timer that expires there, who moved a task away.
 *
 * Events are noted as they are read, from all CPUs, and looked for in the order of time of the CPU
 * that they are about.
 */
#ifndef PROBE_SENDERS_H
#define PROBE_SENDERS_H

#include "trace_format.h"

struct senders {
	struct sent *sent; /* not yet matched with what they caused, in the order of time */
	size_t n, room;
	struct armed_timer *timers;
};

/* TRACE_SENT or TRACE_MOVED to the CPU event->target, of event->cpu. */
void senders_note(struct senders *senders, const struct trace_event *event);
/* TRACE_ARMED. */
void senders_note_armed(struct senders *senders, const struct trace_event *event);
/* Sets the event's sender, if it is one that has a sender and that is known. */
void senders_find(struct senders *senders, struct trace_event *event);
/* The next task that was moved away from the CPU, not later than the time. False: none. */
bool senders_take_moved(struct senders *senders, unsigned int cpu, uint64_t time,
                        struct trace_event *moved);
/* What was sent so long before the time has come, or never comes. */
void senders_forget(struct senders *senders, uint64_t time);
void senders_free(struct senders *senders);

#endif
