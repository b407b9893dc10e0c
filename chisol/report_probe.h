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

/* The lines of a stream: its head, one break, its end (report_jsonl()). */
void report_jsonl_head(FILE *out, const struct run_report *report);
void report_jsonl_break(FILE *out, struct trace_watch *watch, const struct isolation_break *brk);

#endif
