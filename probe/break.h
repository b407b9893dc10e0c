/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From events to breaks. A break is a stretch of time in which the command did not run on its CPU
 * though it was there: an interrupt with the softirqs that it brings, another task's turn with the
 * interrupts in it. Each is charged once:
 *
 *  - to the task that took the CPU, if one did (an interrupt before it only brought it); if several
 *    took turns, to the one with the longest; if the command waits, to its own sleep;
 *  - or else to the first interrupt that is not the command's own doing;
 *  - or else to whatever came first.
 *
 * Everything else is listed as its parts. What begins within BREAK_JOIN_NS after the end of another
 * belongs to the same entry into the kernel, and to the same break.
 *
 * Where the kernel tells when a thread leaves user mode (nohz_full CPUs), breaks of which the
 * thread does not come back are marked: they are of its end, as when a process frees its memory.
 * They are told when that is known.
 *
 * One tracker per CPU; it is fed with the CPU's events in the order of time.
 */
#ifndef PROBE_BREAK_H
#define PROBE_BREAK_H

#include "cause.h"

#define BREAK_JOIN_NS 5000u
#define BREAK_PARTS   256 /* more are counted only */
#define BREAK_DEPTH   16
#define BREAK_HELD    1024 /* a stay in the kernel of more breaks is not taken for an end */

struct isolation_break {
	unsigned int cpu;
	uint64_t start, end;
	const struct part *by; /* the part that it is charged to */
	struct part *parts;    /* in the order of their begin */
	size_t n_parts;
	size_t omitted;
	bool cut;    /* records are missing in it, or it had not ended when the command had */
	bool ending; /* the thread did not come back from the kernel */
};

/* What a tracker asks and tells. */
struct break_env {
	void *ctx;
	struct symbols *symbols;
	bool (*is_own)(void *ctx, pid_t tid); /* a thread of the command */
	bool (*is_kthread)(void *ctx, pid_t tid, const char *name);
	/* The name of a task, "" if it is gone. */
	void (*task_name)(void *ctx, pid_t tid, char name[16]);
	/* Every interval on the CPU, in a break or not. */
	void (*on_part)(void *ctx, unsigned int cpu, const struct part *part);
	void (*on_break)(void *ctx, const struct isolation_break *brk);
	/* A stretch of time in which a task ran of which the kernel told nothing. */
	void (*on_unseen)(void *ctx, unsigned int cpu, uint64_t start, uint64_t end);
};

enum break_state {
	BREAK_UNKNOWN,
	BREAK_ON,     /* a thread of the command has the CPU */
	BREAK_OFF,    /* one had it, and wants it or will be back */
	BREAK_UNUSED, /* no thread of the command is here */
};

struct break_tracker {
	const struct break_env *env;
	unsigned int cpu;
	enum break_state state;
	pid_t off;         /* BREAK_OFF: the thread that had the CPU */
	pid_t waits;       /* a thread that another of the command took the CPU from; 0: none */
	struct part taken; /* by whom, and when */
	struct part frames[BREAK_DEPTH];
	uint64_t latest[BREAK_DEPTH]; /* when something was last seen of the frame */
	unsigned int n_frames;
	struct part parts[BREAK_PARTS];
	size_t n_parts, omitted;
	uint64_t start, end; /* of the break that is being made */
	bool open, cut;
	uint64_t stay;                /* in the kernel, since then; 0: no, or it is not told */
	struct isolation_break *held; /* of the stay, not told as yet; parts owned */
	size_t n_held, held_room;
	pid_t current;      /* by the last switch; -1: not known */
	uint64_t told;      /* the last event */
	uint64_t unmatched; /* ends without a begin */
};

void break_tracker_init(struct break_tracker *t, unsigned int cpu, const struct break_env *env);
void break_tracker_event(struct break_tracker *t, const struct trace_event *event);
/* Records are missing. */
void break_tracker_lost(struct break_tracker *t);
/* No event before this time is to come: a break that ended long enough before is told. */
void break_tracker_passed(struct break_tracker *t, uint64_t time);
/* The end of the watch. */
void break_tracker_end(struct break_tracker *t, uint64_t time);
/* When the first break began that is not told as yet; UINT64_MAX: there is none. */
uint64_t break_tracker_since(const struct break_tracker *t);
void break_tracker_free(struct break_tracker *t);

/* With parts of its own, which the caller frees. */
void break_copy(struct isolation_break *to, const struct isolation_break *from);

#endif
