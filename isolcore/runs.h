/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runs of this machine: one journal each in the state directory (state.h).
 *
 * Every change of the machine, and every change of the set of journals, happens under the lock of
 * state.h. A run is live as long as its journal is locked, or its chisol process (pid + start time)
 * is there: the lock tells in a container, too, where the process may be out of sight.
 */
#ifndef ISOLCORE_RUNS_H
#define ISOLCORE_RUNS_H

#include "journal.h"

enum run_state {
	RUN_LIVE,       /* its chisol process is there, or holds the journal's lock */
	RUN_DEAD,       /* it is gone: to be restored */
	RUN_OTHER_BOOT, /* nothing of it is left but the file */
};

/* All journals in the state directory, oldest first. Files that cannot be read as journals are
 * told in the bad list as "FILE: sentence" and left alone. No state directory: no runs. -ENOENT if
 * there are journals, and no boot id to tell which of them still mean anything. After an error the
 * list is empty.
 * own: the caller's own journal, or NULL. It is left out: whoever closes a second descriptor of it
 * loses its lock (fcntl_locking(2)). */
struct run_list {
	struct journal *runs;
	size_t n, room;
	struct namelist bad;
	char *bad_live; /* the first of these whose run is live, as one of another version may be */
};
#define RUN_LIST_INIT \
	{             \
		0     \
	}
int run_list_load(struct run_list *list, const struct system *sys, const struct journal *own,
                  struct error *err);
void run_list_free(struct run_list *list);
#define _cleanup_run_list_ _cleanup_(run_list_free)

/* How many journals other users have in state directories of their own (state.h), for root. They
 * are counted and not read: their owners may have written there whatever they like. */
struct others_runs {
	struct others_run {
		uid_t user;
		size_t n;
	} * users;
	size_t n, room;
};
void others_runs_find(struct others_runs *others, const struct system *sys);
void others_runs_free(struct others_runs *others);
#define _cleanup_others_runs_ _cleanup_(others_runs_free)

/* Is it of this very process, from before an exec(2)? Then it is a dead run. */
bool run_is_own(const struct journal *j);
enum run_state run_state(const struct journal *j, const struct system *sys);

/* The order for the next run's journal: above all that are there. */
unsigned long long run_list_next_order(const struct run_list *list);
/* Adds the CPUs of live runs to taken, and of dead ones, which may still hold them. */
void run_list_cpus(const struct run_list *list, const struct system *sys, struct cpumask *taken);
/* -EBUSY, naming the run and the CPUs, if one of these runs has one of the wanted CPUs. */
int run_list_check_cpus(const struct run_list *list, const struct system *sys,
                        const struct cpumask *wanted, struct error *err);

#endif
