/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probe of a run: opened before the command starts, read while it runs, and judged after it has
 * ended. What it looks with is in probe/; what it found is told by report_probe.h.
 */
#ifndef CHISOL_PROBE_H
#define CHISOL_PROBE_H

#include "on_break.h"
#include "options.h"
#include "thread_probe.h"
#include "../isolcore/journal.h"
#include "../probe/loop_watch.h"

struct probe {
	bool asked;
	bool watches;             /* by trace events; unavailable says why not */
	struct trace_watch watch; /* if it watches */
	char *unavailable;
	struct record_keep record;   /* for the command's own libisolprobe */
	struct loop_watch loops;     /* what it says of its own loops there */
	bool follows;                /* its threads */
	struct thread_probe threads; /* if it follows */
	const struct system *sys;
	struct on_break on_break;
	pid_t holder; /* holds the trace events since before they were opened; 0: nobody */
};

/* After request_settle(): refuses what makes no sense without the probe. */
int probe_check_options(const struct options *options, struct error *err);

/*
 * Not permitted or not possible is told, and makes the verdict inconclusive; it is an error only
 * where the profile requires the probe by its policy. own: the run's journal.
 */
int probe_open(struct probe *probe, const struct system *sys, const struct request *req,
               const struct plan *plan, const struct journal *own, struct error *err);
void probe_free(struct probe *probe);
#define _cleanup_probe_ _cleanup_(probe_free)

/* In the process that is about to exec the command. */
void probe_before_exec(const struct probe *probe, const char *name);

/* The command has started, at about the time given (monotonic_ns()); runs; has ended. */
void probe_start(struct probe *probe, pid_t pid, uint64_t time);
/* Returns in how many ms it wants to be called again; 0: not. */
unsigned int probe_read(struct probe *probe);
void probe_finish(struct probe *probe, uint64_t time);

/* What can be said of all CPUs together; VERDICT_INCONCLUSIVE where nothing was seen. */
enum verdict_state probe_verdict(const struct probe *probe, const struct request *req);

#endif
