/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe=thread, chisol's part: has the library preloaded, gives its thread a place in the run's
 * group for helpers, looks itself as long as that thread does not, and joins what both have seen.
 *
 * chisol reads /proc/interrupts itself: it has it open to any run, whatever privileges the command
 * keeps, and needs no descriptor in the command.
 */
#ifndef CHISOL_THREAD_PROBE_H
#define CHISOL_THREAD_PROBE_H

#include "../isolcore/plan.h"
#include "../probe/follow.h"
#include "../probe/followed.h"

struct thread_probe {
	const struct system *sys;
	const struct request *req;
	const struct record_keep *record;
	char *library;    /* to be preloaded; NULL: not found */
	char *helpers;    /* the file to write a thread's number to; NULL: there is no such group */
	char *not_placed; /* why the library's thread could not be moved there */
	char *no_isolation; /* why threads with certain names cannot be isolated; NULL: they can */
	pid_t pid;          /* 0: not started */
	uint64_t began, ended; /* CLOCK_MONOTONIC, ns */
	uint64_t missed;       /* when the library's thread was first not found; 0: it is there */
	uint64_t lost;         /* the same, and the command went on without it; 0: it did not */

	struct follow follow; /* chisol's own looks */
	struct record_thread *threads;
	struct record_folded folded;
	struct record_cpus *workload;
	uint64_t n_looks, next_look;
	bool looked_before; /* the first look was at the start */

	struct interrupt_table before; /* at the start, or the end of the grace */
	bool counting;
	struct followed followed; /* after thread_probe_finish() */
};

/* Writes the orders. plan: borrowed until freed. */
int thread_probe_open(struct thread_probe *tp, const struct system *sys, const struct request *req,
                      const struct plan *plan, const struct record_keep *record, struct error *err);
void thread_probe_free(struct thread_probe *tp);

void thread_probe_start(struct thread_probe *tp, pid_t pid);
/* Returns in how many ms it wants to be called again. */
unsigned int thread_probe_read(struct thread_probe *tp);
/* The command has ended, and is not yet reaped. */
void thread_probe_finish(struct thread_probe *tp);

/* Who looked: "libisolprobe's thread (7 looks)", "chisol itself (3 looks): why". */
char *thread_probe_observer(const struct thread_probe *tp);
/* The commands's own libisolprobe: NULL if it is there, or why it is not. */
char *thread_probe_not_loaded(const struct thread_probe *tp);

#endif
