/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal: what a run may have changed, on disk before the first write.
 *
 * One file per run, STATE_DIR/RUN_ID.journal, mode 0600, JSON Lines (documented in
 * isolcore/journal.md): a header, then one record per knob in the order of apply, then amendments.
 * It is written to a temporary name, fsynced, renamed, and the directory is fsynced; a record that
 * is appended later is fsynced at once. A last line without newline is an append that a crash cut
 * short, and counts as not written.
 *
 * Every change of the machine, and every change of the set of journals, happens under the lock
 * STATE_DIR/lock (flock). A run is live as long as its chisol process (pid + start time) is.
 * Journals of another boot are cleared, never replayed: what they changed ended with that boot.
 *
 * Several live runs may hold the same knob (same type and path). Such runs form a stack in the
 * order of their start: each one's found is what the one below it wanted. When one ends, and
 * another above it holds the knob, the other's found becomes the ending one's found (an amendment)
 * and nothing is written; the last one to end writes the true original back.
 */
#ifndef ISOLCORE_JOURNAL_H
#define ISOLCORE_JOURNAL_H

#include "plan.h"

#define STATE_DIR "/run/chisol"

struct journal_record {
	unsigned int seq;
	const struct knob_type *type;
	char *name;
	char *path;
	char *found; /* NULL: there was nothing */
	char *wanted;
};

struct journal {
	char *path;
	int fd; /* open for appending while the run is ours; -1 otherwise */
	/* header */
	char *run_id;
	char *boot_id;
	pid_t pid;                     /* of the chisol process */
	unsigned long long start_time; /* field 22 of /proc/PID/stat, clock ticks since boot */
	unsigned long long order;      /* runs are stacked in this order; unique within a boot */
	pid_t command_pid;             /* 0: not started */
	char *command;                 /* argv as one line, for people */
	char *profiles;                /* NULL: none */
	struct cpumask cpus;           /* the workload's CPUs, which no other run may take */
	char *started;                 /* ISO 8601, UTC */
	/* records */
	struct journal_record *records;
	size_t n_records, room;
};

enum run_state {
	RUN_LIVE,       /* its chisol process is there */
	RUN_DEAD,       /* it is gone: to be restored */
	RUN_OTHER_BOOT, /* nothing of it is left but the file */
};

void journal_free(struct journal *j);
#define _cleanup_journal_ _cleanup_(journal_free)

/* Takes the lock of the state directory (made if need be; refused with -EPERM or -EACCES and a
 * sentence without root), waiting for it. The lock goes with the descriptor. */
int state_lock(int *lock_fd, struct error *err);

/* "PID-STARTTIME" of the calling process: unique within a boot. */
char *run_id_make(struct error *err);

/*
 * Writes the journal of the calling process for the plan: all knobs that have a wanted value. The
 * lock must be held.
 */
int journal_create(struct journal *j, const struct system *sys, const struct request *req,
                   const struct plan *plan, const char *run_id, struct error *err);
/* Before a write that finds another value than planned, and on a hand-over: found of record seq. */
int journal_amend_found(struct journal *j, unsigned int seq, const char *found, struct error *err);
int journal_note_command(struct journal *j, pid_t pid, struct error *err);

/* Reads one journal file; anything that is not a well-formed journal is -EINVAL with file:line. */
int journal_load(struct journal *j, const char *path, struct error *err);

/* All journals in the state directory, oldest first. Files that cannot be read as journals are
 * told in the bad list as "FILE: sentence" and left alone. */
struct run_list {
	struct journal *runs;
	size_t n, room;
	struct namelist bad;
};
#define RUN_LIST_INIT \
	{             \
		0     \
	}
int run_list_load(struct run_list *list, struct error *err);
void run_list_free(struct run_list *list);
#define _cleanup_run_list_ _cleanup_(run_list_free)

enum run_state run_state(const struct journal *j, const struct system *sys);

/*
 * Puts everything back that the journal lists, last first, each by compare-and-swap, and removes
 * the journal if all that could be undone is (RESTORE_FAILED keeps it, for a later --restore). The
 * lock must be held. outcome (may be NULL) is told of each record. Returns 0, or -errno with the
 * sentence of the first that failed, having gone on with the others.
 */
typedef void restore_outcome_fn(void *ctx, const struct journal_record *record,
                                enum knob_restored restored, const char *detail);
int run_restore(struct journal *j, const struct system *sys, restore_outcome_fn *outcome, void *ctx,
                struct error *err);

/* Restores every dead run and clears journals of other boots. */
int run_restore_dead(const struct system *sys, restore_outcome_fn *outcome, void *ctx,
                     struct error *err);

#endif
