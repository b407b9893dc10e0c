/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watching the CPUs of a command by trace events, from another CPU: opens, reads, counts breaks by
 * cause, keeps the worst. Not shared between threads.
 */
#ifndef PROBE_TRACE_WATCH_H
#define PROBE_TRACE_WATCH_H

#include "break.h"

#define WATCH_WORST     10
/* A record may be written this much later than its time says: a hypervisor may stop the CPU
 * between. */
#define TRACE_SETTLE_NS 10000000u

struct cause_count {
	uint64_t breaks, total, longest; /* ns; of the breaks that are charged to the cause */
	uint64_t first, last;            /* begin of the first and the last */
	uint64_t seen, seen_total; /* every occurrence, in breaks of other causes and between */
};

struct break_count {
	uint64_t n, total, longest; /* ns */
};
void break_count_add(struct break_count *sum, const struct break_count *more);

struct watched_cpu {
	unsigned int cpu;
	struct break_tracker tracker;
	struct cause_count *causes; /* one for each row of causes[] */
	struct break_count foreign, self;
	struct break_count startup; /* within the grace at the start: in no other count */
	struct break_count ending;  /* while a thread of the command ended: the same */
	uint64_t lost;              /* records */
	struct break_count unseen;  /* stretches of time that the kernel told nothing of */
	uint64_t loop_longest;      /* ns: gap of a loop that is not its own doing (loop_watch.h) */
	uint64_t loop_unseen;       /* gaps of loops that are the kernel's, and no event tells of */
	double loop_blind;          /* part of its time that a loop was not watched, 0 to 1 */
	bool used;                  /* a thread of the command ran here */
	bool went_offline;
};

/* Who wants to hear of what is found, as it is found. */
struct trace_listener {
	void *ctx;
	/* Those that begin before the watch, too: a command may run a moment before that. */
	void (*on_break)(void *ctx, const struct isolation_break *brk);
	/* A stretch of time of which the kernel told nothing. NULL: it is not to be told. */
	void (*on_unseen)(void *ctx, unsigned int cpu, uint64_t start, uint64_t end);
};

struct trace_watch {
	const struct system *sys;
	struct trace_events events;
	struct symbols symbols;
	struct break_env env;
	struct watched_cpu *cpus;
	size_t n_cpus;
	struct isolation_break
		worst[WATCH_WORST]; /* foreign ones, the longest first; parts owned */
	size_t n_worst;
	struct tasks known, kthreads; /* tasks that were looked up */
	uint64_t began, ended;        /* CLOCK_MONOTONIC, ns; ended is 0 during the run */
	uint64_t grace;               /* ns after began */
	struct trace_listener *listeners;
	size_t n_listeners, listeners_room;
};

/* As trace_events_open(): before the command starts. */
int trace_watch_open(struct trace_watch *tw, const struct system *sys, const struct cpumask *cpus,
                     const struct cpumask *spare, size_t ring_size, struct error *err);
void trace_watch_listen(struct trace_watch *tw, const struct trace_listener *listener);
/* The command runs since then (monotonic_ns()), as this process. */
void trace_watch_start(struct trace_watch *tw, pid_t pid, uint64_t time);
/* What was so far, and begins before that time, was start-up. */
void trace_watch_restart(struct trace_watch *tw, uint64_t time);
/* To be called often enough that no ring runs full. */
void trace_watch_read(struct trace_watch *tw);
/* The command has ended, and the time that was watched at the time given: reads the rest. */
void trace_watch_finish(struct trace_watch *tw, uint64_t time);
void trace_watch_free(struct trace_watch *tw);

#endif
