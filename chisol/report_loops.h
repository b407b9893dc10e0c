/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the command's own loops told by isolprobe_tick(), in the report: text and JSON. */
#ifndef CHISOL_REPORT_LOOPS_H
#define CHISOL_REPORT_LOOPS_H

#include "json.h"
#include "probe.h"

/* Nothing, if no thread ticked. */
void report_loops_text(FILE *out, const struct run_report *report);
json_t *json_loops(const struct run_report *report); /* null, if none did */

#endif
