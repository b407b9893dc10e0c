/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The form of oslat 2.10 (rt-tests), in its own words, for what reads it: figures of whole passes
 * of the loop, in whole us, rounded down; a bucket is called by its upper edge. Different, because
 * oslat's is wrong: the average is the true mean (not that of upper edges), the duration comes from
 * the clock of the run (not from a counter rounded to MHz), there is no overflow in the JSON, and
 * its text is quoted. A gap of more than 128 us may be counted in the bucket beside its own.
 */
#ifndef PROBE_OSLAT_H
#define PROBE_OSLAT_H

#include <jansson.h>
#include <time.h>

#include "../isolcore/sysroot.h"
#include "figures.h"

/* Passes by whole us; what was not looked at one by one is where the loop is. */
struct us_histogram {
	const struct figures *f;
	const struct tick_record *r;
	unsigned int next;
	uint64_t uncounted;
};

struct us_histogram us_begin(const struct figures *f, const struct tick_record *r);
/* The next us that has passes, in ascending order, and how many. */
bool us_next(struct us_histogram *h, unsigned long long *floor_us, uint64_t *n);

struct oslat_run {
	const char *program; /* "chisol": for the version */
	const char *command; /* its words */
	time_t start, end;
	int return_code;
	const struct sysroot *root;
};

/* The document, without threads; a thread more, of a loop that has ended. */
json_t *oslat_json(const struct oslat_run *run);
void oslat_json_add(json_t *document, const struct figures *f, const struct tick_record *r);
/* The words with blanks between; the caller frees it. */
char *oslat_command(char *const *argv);

#endif
