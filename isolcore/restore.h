/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Putting back what a run changed, from its journal: last first, each by compare-and-swap. A value
 * that is neither what the run wanted nor what it found was changed by somebody else since: it is
 * left alone and named. But the value that a run was writing when it died is the run's, whatever
 * the kernel made of it.
 *
 * Several runs may hold the same knob (same type and path). They form a stack in their order: each
 * one's found is what the one below it wanted. When one ends, and another above it holds the knob,
 * the other's found becomes the ending one's found (an amendment of its journal) and nothing is
 * written; the last one to end writes the true original back. So the order of ends does not matter.
 *
 * Journals of another boot are cleared, never replayed: what they changed ended with that boot.
 */
#ifndef ISOLCORE_RESTORE_H
#define ISOLCORE_RESTORE_H

#include "runs.h"

/* Told of each record, in the order of putting back. detail: NULL or a sentence. */
typedef void restore_outcome_fn(void *ctx, const struct journal *run,
                                const struct journal_record *record, enum knob_restored restored,
                                const char *detail);

/*
 * Puts back what the journal lists and removes it; RESTORE_FAILED keeps it, with what failed, for a
 * later --restore.
 * The journal is read from disk again first, as other runs may have amended it. The lock must be
 * held. outcome may be NULL. Returns 0, or -errno with the sentence of the first that failed,
 * having gone on with the others.
 */
int run_restore(struct journal *j, const struct system *sys, restore_outcome_fn *outcome, void *ctx,
                struct error *err);

/* Restores every dead run, the youngest first, and clears journals of other boots and what a
 * crash left of unfinished ones. The lock must be held. -EBUSY: a live run's journal cannot be
 * read. */
int run_restore_dead(const struct system *sys, restore_outcome_fn *outcome, void *ctx,
                     struct error *err);

/* Gives up what could not be put back: the journal is kept as RUN_ID.forgotten, for people. The
 * run must be dead, and the lock held. */
int run_forget(const struct journal *j, const struct system *sys, struct error *err);

#endif
