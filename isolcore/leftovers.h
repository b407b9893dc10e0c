/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What dead runs left changed and a restore has just failed to put back. A new run leaves these
 * settings alone: what it found in them would not be theirs, and what it wrote would be taken for
 * the dead run's by the next restore.
 */
#ifndef ISOLCORE_LEFTOVERS_H
#define ISOLCORE_LEFTOVERS_H

#include "restore.h"

struct leftover {
	char *run_id, *command;
	char *name, *path;
	char *detail; /* why it cannot be put back */
};

struct leftovers {
	struct leftover *all; /* those of a run stand together */
	size_t n, room;
};
#define LEFTOVERS_INIT \
	{              \
		0      \
	}

/* A restore_outcome_fn; ctx: the leftovers. */
void leftovers_note(void *ctx, const struct journal *run, const struct journal_record *record,
                    enum knob_restored restored, const char *detail);
/* Refuses the planned knobs that are left over, and notes each run. */
void leftovers_refuse(const struct leftovers *leftovers, struct plan *plan);
void leftovers_free(struct leftovers *leftovers);

#endif
