/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The journal of one run: what it may have changed, on disk before the first write.
 *
 * RUN_ID.journal in the state directory, mode 0600, JSON Lines (documented in
 * isolcore/journal.md): a header, then one record per knob in the order of apply, then amendments.
 * It is written to a temporary name, fsynced and renamed; an amendment is fsynced before the write
 * that it is about. A last line without newline is an append that a crash cut short, and counts as
 * not written.
 *
 * As long as its run is live, the chisol process holds a lock (fcntl(2)) on it, and opens it no
 * second time: the lock would go with the first descriptor that is closed.
 *
 * All paths are under the system root, so a test's journals live in its own tree. See runs.h for
 * the set of journals, restore.h for putting back.
 */
#ifndef ISOLCORE_JOURNAL_H
#define ISOLCORE_JOURNAL_H

#include "plan.h"

/* Limits for what is read: far above any real journal, far below what would hurt. */
#define JOURNAL_MAX_SIZE (64u << 20)

struct journal_record {
	unsigned int seq; /* of the knob in the plan; ascending, with gaps */
	const struct knob_type *type;
	char *name;
	char *path;
	char *found; /* NULL: there was nothing */
	char *wanted;
	char *left; /* how it reads after apply, where that is not wanted; mostly NULL */
};

/* What the run made of the knob. */
static inline const char *journal_made(const struct journal_record *record)
{
	return record->left ? record->left : record->wanted;
}

struct journal {
	char *path;
	int fd; /* open for appending while the run is ours; -1 otherwise */
	/* header */
	char *run_id;
	char *boot_id;
	pid_t pid;                     /* of the chisol process */
	unsigned long long start_time; /* its start time, see process.h */
	unsigned long long order;      /* runs are stacked in this order; unique among journals */
	pid_t command_pid;             /* 0: not started */
	char *command;                 /* argv as one line, for people */
	char *profiles;                /* NULL: none */
	struct cpumask cpus;           /* that no other run may use; empty: it claims none */
	char *started;                 /* ISO 8601, UTC */
	/* records */
	struct journal_record *records;
	size_t n_records, room;
	bool in_flight;             /* a write was begun whose outcome is not noted */
	unsigned int in_flight_seq; /* of its record */
	size_t size;                /* of the well-formed lines in the file, bytes */
};

#define JOURNAL_INIT      \
	{                 \
		.fd = -1, \
	}

void journal_free(struct journal *j);
#define _cleanup_journal_ _cleanup_(journal_free)

/* "PID-STARTTIME" of the calling process: unique within a boot. NULL on error. */
char *run_id_make(struct error *err);

/*
 * Writes the journal of the calling process for the plan: all knobs that plan_apply() may write.
 * The lock must be held. order: from run_list_next_order().
 */
int journal_create(struct journal *j, const struct system *sys, const struct request *req,
                   const struct plan *plan, const char *run_id, unsigned long long order,
                   struct error *err);

/* Opens a loaded journal for amendments. */
int journal_open(struct journal *j, const struct system *sys, struct error *err);
/* Amendments, in memory and in the file. The first two are on disk only after journal_sync(). */
int journal_amend_found(struct journal *j, unsigned int seq, const char *found, struct error *err);
int journal_amend_left(struct journal *j, unsigned int seq, const char *left, struct error *err);
/*
 * The record's write is about to begin. Until the next such note, or the one of what it left, the
 * journal does not say what came of it. Not synced: it is for the death of the process, which what
 * is written survives; with the kernel that has it in memory the journal's use ends, too.
 */
int journal_note_begun(struct journal *j, unsigned int seq, struct error *err);
/* What came of the last write is in the journal. */
int journal_note_ended(struct journal *j, struct error *err);
/* The record is done with and leaves the journal. */
int journal_note_restored(struct journal *j, unsigned int seq, struct error *err);
int journal_sync(struct journal *j, struct error *err);
/* For --status only, so not synced. */
int journal_note_command(struct journal *j, pid_t pid, struct error *err);

/* Reads one journal; anything that is not a well-formed journal is -EINVAL with file:line. */
int journal_load(struct journal *j, const struct system *sys, const char *path, struct error *err);
/* Reads the caller's own journal anew, through the descriptor that has its lock, if one has. */
int journal_reload(struct journal *j, const struct journal *own, const struct system *sys,
                   struct error *err);
int journal_parse(struct journal *j, const char *path, const char *text, size_t size,
                  struct error *err);

#endif
