/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gaps of a loop and events of the kernel, brought together: each gap gets its cause, and each
 * break that must have made a gap is looked for among the gaps.
 *
 * Both are given as they come, on CLOCK_MONOTONIC, each kind of a CPU in the order of time, and are
 * joined when everything that may belong to them is there (join_settle()). A gap is longer than
 * what is traced in it: entering and leaving the kernel, about 1 us together, happen before the
 * first and after the last event. What is kept is bounded: the breaks and gaps of about a second,
 * the worst and the first gaps, and counts.
 *
 * A gap is charged
 *  - to the break in it: to what that is charged to, or the longest part that is in this gap;
 *  - if there is none, or if the rest of the gap is longer than the events and than what entering
 *    the kernel for each of them may take: to a row of outsides[], by the signs that there are.
 */
#ifndef PROBE_JOIN_H
#define PROBE_JOIN_H

#include "break.h"
#include "outside.h"
#include "worst.h"

/* What an entry into the kernel takes outside of the events, generously. In a virtual machine an
 * interrupt first leaves the guest, and comes back with 10 us gone. */
#define JOIN_ENTRY_NS    5000u
#define JOIN_ENTRY_VM_NS 50000u

#define JOIN_HOLD_NS     1000000000u /* everything is there by then, or never will be */
#define JOIN_TOGETHER_NS 100000000u  /* longer gaps may not be seen as at the same time */
#define JOIN_KEPT        65536u      /* gaps, and breaks, on their way, of each CPU: at most */
#define JOIN_PARTS       4096u       /* of a gap that is kept: at most, the first */
#define JOIN_OFF_NS      10000000u   /* a gap is joined only if its time is known so well */

enum join_state {
	JOIN_NEW,
	JOIN_CHARGED, /* there is a cause, or none */
	JOIN_SETTLED, /* all is known, and it is counted */
};

struct join_gap {
	uint64_t length;     /* ns, without the usual pass; first, as worst.h has it */
	uint64_t start, end; /* CLOCK_MONOTONIC, ns, of the whole pass */
	uint64_t off;        /* start and end may be off by */
	uint64_t steps;      /* counter at its start */
	enum isolprobe_class what;
	/* So far it is given; from here on it is found. */
	enum join_state state;
	unsigned int signs;            /* enum outside_sign */
	const struct cause *cause;     /* what it is charged to; or */
	const struct outside *outside; /* what it was instead */
	bool turn;                     /* another task's turn, or a sleep, is in it, seen in full */
	uint64_t seen;                 /* ns that events account for */
	struct part *parts;            /* the events in it, of a gap that is kept; owned */
	size_t n_parts;
};

struct join_count {
	uint64_t n, total, longest; /* ns */
};

/* Breaks with a part that is as long as the threshold: each must have made a gap. */
struct join_over {
	uint64_t n, joined;
};

struct join_break;

#define JOIN_WINDOWS 32u

struct join_window {
	uint64_t from, until; /* ns; UINT64_MAX: it still runs */
};

struct join_cpu {
	unsigned int cpu;
	uint64_t threshold;                       /* ns, of the loop; UINT64_MAX: not known yet */
	uint64_t blind_ns;                        /* after a gap: a shorter break is not noticed */
	uint64_t open_since;                      /* a break that has not ended; UINT64_MAX: none */
	struct join_window windows[JOIN_WINDOWS]; /* in which a loop runs */
	size_t n_windows;
	uint64_t lost_from, lost_until; /* events are missing between */

	struct join_count all, named;         /* gaps; those that are charged to an event */
	struct join_count *causes, *outsides; /* one for each row of causes[] and outsides[] */
	uint64_t seen;                        /* ns of all gaps that events account for */
	uint64_t together, everywhere; /* gaps while another CPU had one, too; while all had */
	uint64_t off;                  /* the largest of the gaps' */
	struct join_over *over;        /* one for each row of causes[] */
	uint64_t blind;                /* of those without a gap: in the blind time of the probe */
	uint64_t lost;                 /* gaps that were not handed over */
	struct worst worst;            /* of struct join_gap */
	struct join_gap *first;
	size_t n_first, room_first;

	struct join_gap *gaps; /* on their way; once they are joined in the order of their end */
	struct join_break *breaks; /* the same */
	size_t n_gaps, gaps_room, n_breaks, breaks_room;
	bool disordered; /* gaps have come out of order */
};

struct join {
	struct join_cpu *cpus;
	size_t n_cpus;
	const struct outside_watch *outside;
};

/* keep: how many of the worst, and of the first, gaps of each CPU. outside has the same CPUs. */
void join_init(struct join *join, const struct outside_watch *outside, size_t keep);
struct join_cpu *join_cpu(const struct join *join, unsigned int cpu); /* or NULL */

/* A loop begins on the CPU; the one that began at that time has ended. Of more than JOIN_WINDOWS
 * the oldest is forgotten. */
void join_loop_begins(struct join_cpu *c, uint64_t from);
void join_loop_ends(struct join_cpu *c, uint64_t from, uint64_t until);

void join_break(struct join *join, const struct isolation_break *brk);
void join_gap(struct join *join, unsigned int cpu, const struct join_gap *gap);
void join_lost(struct join *join, unsigned int cpu, uint64_t from, uint64_t until);
/* Everything that ended before the horizon is there, but for breaks that are open. */
void join_settle(struct join *join, uint64_t horizon);
/* Nothing more is to come. */
void join_finish(struct join *join);
void join_free(struct join *join);

/* After join_finish(): what became of one of the gaps that were kept; or NULL. */
const struct join_gap *join_find(const struct join_cpu *c, uint64_t steps);

/* For people, of a gap that is kept: "task make (812) and 3 more events". The caller frees it. */
char *join_words(const struct join_gap *gap);

/* The gaps that the kernel caused, with or without an event that says how; and the others. */
struct join_count join_kernels(const struct join_cpu *c);
struct join_count join_foreign(const struct join_cpu *c);
struct join_over join_over(const struct join_cpu *c); /* of all causes */
double join_percent(uint64_t part, uint64_t whole);   /* of nothing: all */

#endif
