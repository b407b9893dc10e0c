/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What other runs have done to the machine: --status looks, --restore puts back what dead ones
 * left. Both read journals, so they need no profile.
 */
#ifndef CHISOL_STATUS_H
#define CHISOL_STATUS_H

#include "report.h"
#include "../isolcore/runs.h"

/*
 * Prints every run (id, processes, command, CPUs, profiles, start) and, of live ones, the settings
 * that drifted. Returns 0; 1 if there is something to look after: a dead run, a drifted setting, a
 * journal that cannot be read; EXIT_CHISOL with a sentence if it cannot tell.
 */
int status_print(enum report_format format, const struct system *sys, FILE *out, struct error *err);

/*
 * Restores dead runs, clears journals of another boot, and prints what became of each run and of
 * each setting that was not simply put back. Returns 0 if all is back; 1 if a setting could not be
 * put back (its journal stays, for another try), was left alone because somebody else changed it,
 * or a journal cannot be read; EXIT_CHISOL with a sentence if it could not try.
 */
int restore_print(enum report_format format, const struct system *sys, FILE *out,
                  struct error *err);
/* The same, and gives up what of a dead run cannot be put back: that is then no reason for 1. */
int forget_print(enum report_format format, const struct system *sys, const char *run_id, FILE *out,
                 struct error *err);

#endif
