/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The forms of the report: one function each, for a whole run. */
#ifndef PROBE_CMD_PRINT_H
#define PROBE_CMD_PRINT_H

#include "../figures.h"
#include "measure.h"

/* All that a report is made of; figures: one for each measured CPU. */
struct outcome {
	const struct arguments *args;
	const struct system *sys;
	const struct run *run;
	const struct figures *figures;
};

extern const char *const doubt_texts[DOUBTS]; /* for people */
extern const char *const doubt_keys[DOUBTS];  /* for programs */

void print_text(FILE *out, const struct outcome *o);
void print_json(FILE *out, const struct outcome *o);
void print_oslat(FILE *out, const struct outcome *o);
void print_oslat_json(FILE *out, const struct outcome *o);
void print_sysjitter(FILE *out, const struct outcome *o);

#endif
