/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One run, from the plan to the report. Everything that it changes is in the journal before it is
 * changed, and is put back on every way out.
 */
#ifndef CHISOL_RUN_H
#define CHISOL_RUN_H

#include "options.h"
#include "../isolcore/leftovers.h"

/* Putting back opens fewer at a time, unless many runs share its settings. */
#define RUN_ASIDE 12

struct run {
	const struct system *sys;
	struct options *options;
	struct plan plan;
	char *id;
	int lock_fd;           /* -1: not held */
	struct error lock_err; /* why it is not held */
	struct run_list others;
	struct leftovers leftovers;
	int aside[RUN_ASIDE]; /* descriptors; -1: none */
};

#define RUN_INIT                                                                                   \
	{                                                                                          \
		.plan = PLAN_INIT, .lock_fd = -1, .lock_err = ERROR_INIT, .others = RUN_LIST_INIT, \
		.leftovers = LEFTOVERS_INIT, .aside = {                                            \
			[0 ... RUN_ASIDE - 1] = -1                                                 \
		}                                                                                  \
	}

/* Settles the request and plans it. For a run that may change the machine: takes the lock, puts
 * back what dead runs left, refuses CPUs that another run has, and leaves alone what could not be
 * put back. */
int run_prepare(struct run *run, const struct system *sys, struct options *options,
                struct error *err);
/* Applies, launches, waits, restores, reports. Ends the process as the command ended; returns only
 * when the command did not run: the exit status, with a sentence. */
int run_command(struct run *run, struct error *err);
void run_free(struct run *run);
#define _cleanup_run_ _cleanup_(run_free)

#endif
