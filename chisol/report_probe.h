/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the probe has found, in the readings of a report: text, JSON, and JSON Lines, one break a
 * line as it is found, so that a run that is killed leaves what was known.
 */
#ifndef CHISOL_REPORT_PROBE_H
#define CHISOL_REPORT_PROBE_H

#include "json.h"
#include "probe.h"

void report_probe_text(FILE *out, const struct run_report *report);
json_t *json_probe(const struct run_report *report); /* null if not asked for */

/* The lines of a stream: its head, a break, a stretch of time of which the kernel told nothing; its
 * end is report_jsonl(). */
json_t *json_stream_head(const struct run_report *report);
json_t *json_stream_break(struct trace_watch *watch, const struct isolation_break *brk);
json_t *json_stream_unseen(const struct trace_watch *watch, unsigned int cpu, uint64_t start,
                           uint64_t end);

#endif
