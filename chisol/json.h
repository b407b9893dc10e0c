/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pieces that the JSON documents (report, plan, check) share; chisol-report(5) describes them,
 * man/chisol-report.schema.json is their schema. Keys are stable, and present even if their value
 * is null; units are in their names.
 *
 * Callers own what they get. Memory that runs out ends the process as elsewhere (mem.h), so no
 * function returns NULL.
 */
#ifndef CHISOL_JSON_H
#define CHISOL_JSON_H

#include "report.h"
#include "setting.h"

#include <jansson.h>

/* An object with the version of its kind ("chisol_report": 1) and chisol's own. */
json_t *json_document(const char *kind, int version);
/* A string, or null. Text that is not UTF-8 has its backslashes doubled and every byte above 0x7f
 * as \xHH, so that it is always valid JSON and nothing is lost. */
json_t *json_text(const char *text);
json_t *json_strings(const struct namelist *texts); /* an array */
json_t *json_cpulist(const struct cpumask *cpus);   /* "0-3,7" */
json_t *json_count(unsigned long long n);
/* "machine", "cpus", "profiles" and "command" of the document. */
void json_add_circumstances(json_t *document, const struct system *sys, const struct request *req);
/* "settings" and "notes". */
void json_add_plan(json_t *document, const struct plan *plan);
/* The document as text with a last newline; gives the reference back. 0 or -errno. */
int json_print(FILE *out, json_t *document);

#endif
