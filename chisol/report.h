/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that is known about a run, and its two readings: text for people, JSON for programs
 * (schema: man/chisol-report.schema.json). The plan carries the settings' three words: asked,
 * granted, observed.
 */
#ifndef CHISOL_REPORT_H
#define CHISOL_REPORT_H

#include "launch.h"
#include "../isolcore/interrupts.h"

enum report_format {
	REPORT_TEXT,
	REPORT_JSON
};

struct run_report {
	const struct system *sys;
	const struct request *req;
	const struct plan *plan;
	const struct launch_result *result;
	const struct interrupt_table *interrupts; /* what hit the workload's CPUs during the run */
	const char *run_id;
	const char *failure; /* chisol's own failure, one sentence; NULL: none */
	size_t n_drifted;
	struct namelist warnings; /* sentences, in the order in which they came up */
};

/* A sink is opened before the run, so that an unwritable FILE ends chisol with 125 and not after
 * an hour of measuring. Without FILE it is standard error. */
struct report_sink {
	enum report_format format;
	char *path; /* NULL: standard error */
	int fd;
};

/* FORMAT or FORMAT:FILE. */
int report_sink_parse(struct report_sink *sink, const char *text, struct error *err);
int report_sink_open(struct report_sink *sink, struct error *err);
int report_write(const struct report_sink *sink, const struct run_report *report,
                 struct error *err);
void report_sink_close(struct report_sink *sink);

/* Other readings of a plan (dryrun.c, check.c): on standard output. */
enum dry_run_format {
	DRY_RUN_TEXT,
	DRY_RUN_JSON,
	DRY_RUN_SH
};
int dry_run_print(enum dry_run_format format, const struct system *sys, const struct request *req,
                  const struct plan *plan, FILE *out, struct error *err);
/* One line per finding with its remedy, or JSON. Returns 0: as asked, 1: not as asked. */
int check_print(enum report_format format, const struct system *sys, const struct request *req,
                const struct plan *plan, FILE *out, struct error *err);

#endif
