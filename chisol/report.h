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

#include <stdint.h>

enum report_format {
	REPORT_TEXT,
	REPORT_JSON,
	/* of runs only: */
	REPORT_JSONL, /* breaks as they are found; the others come after the run */
	REPORT_OSLAT_JSON,
};

struct load;
struct probe;

struct run_report {
	const struct system *sys;
	const struct request *req;
	const struct plan *plan;
	const struct launch_result *result;
	const struct interrupt_table *interrupts; /* what hit the workload's CPUs during the run */
	struct probe *probe;                      /* not const: names are looked up when told */
	const struct load *load;
	const char *run_id;
	const char *failure;      /* chisol's own failure, one sentence; NULL: none */
	bool verbose;             /* text: name every setting, fold nothing */
	struct namelist warnings; /* sentences, in the order in which they came up */
};

/*
 * A sink is opened before the run, so that an unwritable FILE ends chisol with 125 and not after
 * an hour of measuring. Without FILE it is standard error; FILE "-" is standard output, which
 * otherwise belongs to the command; /dev/stdout, /dev/stderr and /dev/fd/N are duplicated, not
 * opened again, so that they keep their place in the file.
 *
 * A regular file keeps its old content until report_write() replaces it. It is locked (flock), so
 * that no two reports overwrite each other. In a directory that everybody can write to, or that
 * belongs to neither root nor the caller, symbolic links, hard links and files of third parties are
 * refused: what fs.protected_symlinks and fs.protected_regular do where they are on.
 */
struct report_sink {
	enum report_format format;
	char *path; /* NULL: standard error */
	int fd;
	bool created; /* the file is new; it goes again if nothing is ever written to it */
	/* How many ms report_write() waits for a reader; 0: for ever, as sh does. Set for a FIFO
	 * that others may have put there: signals are held until the report is written. */
	int patience;
};

/* FORMAT or FORMAT:FILE. */
int report_sink_parse(struct report_sink *sink, const char *text, struct error *err);
int report_sink_open(struct report_sink *sink, struct error *err);
int report_write(const struct report_sink *sink, const struct run_report *report,
                 struct error *err);
/* Empties the file of a stream, and adds text to it. patience: how many ms it may stand still, as a
 * pipe does that nobody reads; -1: for ever. */
int report_sink_empty(const struct report_sink *sink, struct error *err);
int report_sink_add(const struct report_sink *sink, const char *text, size_t len, int patience,
                    struct error *err);
void report_sink_close(struct report_sink *sink);

/* The two readings, for report_write(). */
void report_text(FILE *out, const struct run_report *report);
void report_json(FILE *out, const struct run_report *report);
void report_jsonl(FILE *out, const struct run_report *report); /* the last line */
void report_oslat_json(FILE *out, const struct run_report *report);

/* Prints "  label         text", folded. */
#define REPORT_INDENT 16 /* two spaces, a label, two spaces */
int report_label(FILE *out, const char *label);
#define report_line(out, label, ...) \
	escape_fold(out, report_label(out, label), REPORT_INDENT, __VA_ARGS__)

static inline double report_us(uint64_t ns)
{
	return (double)ns / 1e3;
}

/* Other readings of a plan (dryrun.c, check.c): on standard output. */
enum dry_run_format {
	DRY_RUN_TEXT,
	DRY_RUN_JSON,
	DRY_RUN_SH
};
int dry_run_print(enum dry_run_format format, const struct system *sys, const struct request *req,
                  const struct plan *plan, FILE *out, struct error *err);
/*
 * One line per finding with its remedy, or JSON. What only a run makes (its cgroup, the settings of
 * its process) is no finding. What nobody can change at run time is told as exposed, and does not
 * change the answer. Returns 0: as asked, 1: not as asked, EXIT_CHISOL with a sentence in err: no
 * difference found, but not everything could be read, or out could not be written.
 */
int check_print(enum report_format format, const struct system *sys, const struct request *req,
                const struct plan *plan, FILE *out, struct error *err);

#endif
