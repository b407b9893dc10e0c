/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's trace events on given CPUs: which there are, what they mean for a task that is not
 * to be interrupted, and reading them in order.
 *
 * Owns one ring and one descriptor per event and CPU. Formats differ between kernels and are read
 * through libtraceevent. An event that the kernel does not have is listed and otherwise missed by
 * nobody. Times are CLOCK_MONOTONIC in ns, which is one clock for all CPUs.
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

#include "../isolcore/machine.h"
#include "ring.h"
#include "tasks.h"

/* What takes the CPU from the task. */
enum trace_source {
	TRACE_NOTHING,
	TRACE_TIMER, /* local timer interrupt */
	TRACE_RESCHEDULE,
	TRACE_CALL_FUNCTION, /* another CPU wants a function run here */
	TRACE_IRQ_WORK,
	TRACE_THERMAL,
	TRACE_PLATFORM_IPI,
	TRACE_SPURIOUS,
	TRACE_ERROR,
	TRACE_IPI, /* of a kind that the event does not tell (arm64) */
	TRACE_DEVICE,
	TRACE_SOFTIRQ,
	TRACE_NMI,
	TRACE_FAULT,
	TRACE_KERNEL, /* user mode left: system call or exception */
	TRACE_TASK,   /* another task */
	TRACE_SLEEP,  /* the command waits */
	TRACE_MIGRATION,
};

enum trace_op {
	TRACE_ENTER,
	TRACE_LEAVE,
	TRACE_POINT,    /* of no known length, or of one that the event tells */
	TRACE_SWITCH,   /* to another task */
	TRACE_MOVED,    /* a task that waits was moved to another CPU */
	TRACE_FUNCTION, /* tells what the innermost interval does */
	TRACE_SENT,     /* to another CPU: an interrupt, or a function to run; not passed on */
	TRACE_ARMED,    /* a timer was, by the current task; not passed on */
};

#define TRACE_TEXT 32

struct trace_event {
	uint64_t time;
	unsigned int cpu;
	enum trace_op op;
	enum trace_source source;
	pid_t pid;             /* the current task; of TRACE_SWITCH the one before */
	uint64_t number;       /* interrupt or softirq number */
	uint64_t function;     /* a kernel address; 0: none */
	uint64_t length;       /* TRACE_POINT, ns */
	char text[TRACE_TEXT]; /* device, or the next task's name */
	pid_t other;           /* TRACE_SWITCH: the next task; TRACE_MOVED: the one moved */
	int prio;              /* of the next task: under 100 is real-time (kernel's scale) */
	uint64_t state;        /* TRACE_SWITCH: prev_state; 0: could have gone on */
	bool has_sender; /* who sent the interrupt or function (Linux 6.4), or armed the timer: */
	pid_t sender;
	unsigned int sender_cpu;
};

struct trace_sent;
struct trace_fork;

/* Who armed a timer, by the timer's address; a later one may take the place of an earlier. */
#define TRACE_TIMERS 4096u
struct trace_timer {
	uint64_t timer;
	pid_t by;
	unsigned int cpu;
};

struct trace_events {
	const struct system *sys;
	struct cpumask cpus;   /* that are watched */
	struct cpumask spared; /* on which nothing was opened */
	struct ring *rings;    /* one for each online CPU */
	size_t n_rings;
	struct trace_format *formats; /* by id */
	size_t n_formats, formats_room;
	struct tep_handle *tep;
	int *fds;
	size_t n_fds, fds_room;
	struct trace_sent *sent; /* not yet matched with what they caused, in the order of time */
	size_t n_sent, sent_room;
	struct trace_timer *timers; /* TRACE_TIMERS */
	struct trace_fork *forks;   /* of one read, in the order of time */
	size_t n_forks, forks_room;
	struct namelist missing; /* "system:event" */
	struct tasks tasks;      /* of the command */
	uint64_t lost_elsewhere; /* records of CPUs that are not watched, the least number */
	uint64_t clock_steps;    /* on a watched CPU the clock went back */
};

/*
 * ring_size: bytes for each watched CPU. -EPERM, -EACCES: not permitted. spare: CPUs of others that
 * must not be disturbed; NULL: none. On those, and on CPUs that are isolated since boot, nothing is
 * opened unless they are watched: what is sent from there has no known sender.
 */
int trace_events_open(struct trace_events *te, const struct system *sys, const struct cpumask *cpus,
                      const struct cpumask *spare, size_t ring_size, struct error *err);
/* Opens each event there is once, on the CPU given, to count and tell nothing. */
int trace_events_hold(struct trace_events *te, const struct system *sys, unsigned int cpu,
                      struct error *err);
/*
 * For a process that is there for this only: closes everything but the events, then the events, so
 * slowly that a process that opens them gets its turn.
 */
void trace_events_leave(const struct trace_events *te);
void trace_events_close(struct trace_events *te);
#define _cleanup_trace_events_ _cleanup_(trace_events_close)

/* fn is called for each event of the watched CPUs, of one CPU in the order of time. lost: records
 * are missing before the next event of this CPU; event is NULL. */
typedef void trace_events_fn(void *ctx, unsigned int cpu, const struct trace_event *event,
                             uint64_t lost, uint64_t time);
/* Reads what is older than the horizon. Sends nothing to any CPU. */
void trace_events_read(struct trace_events *te, uint64_t horizon, trace_events_fn *fn, void *ctx);

#endif
