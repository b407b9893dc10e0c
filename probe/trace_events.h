/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's trace events on given CPUs: opening them, reading them in order, and telling of each
 * who is behind it.
 *
 * Owns one ring and one descriptor per event and CPU. Times are CLOCK_MONOTONIC in ns, which is one
 * clock for all CPUs.
 *
 * The first to open an event and the last to close it make the kernel patch its text: about 400
 * function-call interrupts on every CPU of the machine for all events, and closing waits for two
 * grace periods of RCU for each, 1.2 s together. So open before the command starts and close after
 * it has ended. Where somebody holds the events (trace_events_hold()), opening interrupts each CPU
 * that it opens events on a few times, and closing once for each event there. Between, nothing is
 * sent to the CPUs that are watched (but see ring.h).
 *
 * What another CPU does to a watched one (sending interrupts, moving its tasks) is filtered in the
 * kernel and comes from a small ring on every online CPU; new tasks do as well.
 */
#ifndef PROBE_TRACE_EVENTS_H
#define PROBE_TRACE_EVENTS_H

#include <sys/resource.h>

#include "../isolcore/machine.h"
#include "arm_irq.h"
#include "ring.h"
#include "senders.h"
#include "tasks.h"

struct trace_fork;

struct trace_events {
	const struct system *sys;
	struct cpumask cpus;   /* that are watched */
	struct cpumask spared; /* on which nothing was opened */
	struct ring *rings;    /* one for each online CPU */
	size_t n_rings;
	struct trace_formats formats;
	int *fds;
	size_t n_fds, fds_room;
	struct senders senders;
	struct arm_irqs arm_irqs;
	struct trace_fork *forks; /* of one read, in the order of time */
	size_t n_forks, forks_room;
	struct tasks tasks;        /* of the command */
	uint64_t lost_elsewhere;   /* records of CPUs that are not watched, the least number */
	uint64_t clock_steps;      /* on a watched CPU the clock went back */
	struct rlimit descriptors; /* the limit as it was; all zero: not raised */
};

/*
 * ring_size: bytes for each watched CPU. -EPERM, -EACCES: not permitted. spare: CPUs of others that
 * must not be disturbed; NULL: none. On those, and on CPUs that are isolated since boot, nothing is
 * opened unless they are watched: what is sent from there has no known sender.
 * Raises the soft limit on descriptors until they are closed.
 */
int trace_events_open(struct trace_events *te, const struct system *sys, const struct cpumask *cpus,
                      const struct cpumask *spare, size_t ring_size, struct error *err);
/* In a process that is to become another program: it gets the limit as it was. */
void trace_events_before_exec(const struct trace_events *te);
/* Opens each event there is once, on the CPU given, to count and tell nothing. */
int trace_events_hold(struct trace_events *te, const struct system *sys, unsigned int cpu,
                      struct error *err);
void trace_events_close(struct trace_events *te);
#define _cleanup_trace_events_ _cleanup_(trace_events_close)

/* fn is called for each event of the watched CPUs, of one CPU in the order of time. lost: records
 * are missing before the next event of this CPU; event is NULL. */
typedef void trace_events_fn(void *ctx, unsigned int cpu, const struct trace_event *event,
                             uint64_t lost, uint64_t time);
/* Reads what is older than the horizon. Sends nothing to any CPU. */
void trace_events_read(struct trace_events *te, uint64_t horizon, trace_events_fn *fn, void *ctx);

#endif
