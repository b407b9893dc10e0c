/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text and the JSON of oslat: see ../oslat.h. */
#include "../oslat.h"
#include "print.h"

#define ROWS \
	32 /* of the text's histogram; the last one takes all that is longer, as oslat's does */

static unsigned long long us(uint64_t ns)
{
	return ns / 1000;
}

static void print_buckets(FILE *out, const struct outcome *o)
{
	size_t n_cpus = o->run->n_measured;
	_cleanup_free_ uint64_t *counts = xcalloc(n_cpus * ROWS, sizeof(*counts));

	for (size_t i = 0; i < n_cpus; i++) {
		struct us_histogram h = us_begin(&o->figures[i], o->run->measured[i].record);
		unsigned long long at;
		uint64_t n;

		while (us_next(&h, &at, &n))
			counts[i * ROWS + (at < ROWS ? at : ROWS - 1)] += n;
	}
	for (unsigned int row = 0; row < ROWS; row++) {
		fprintf(out, "    %03u (us):\t", row + 1);
		for (size_t i = 0; i < n_cpus; i++)
			fprintf(out, " %llu", (unsigned long long)counts[i * ROWS + row]);
		fprintf(out, "%s\n", row == ROWS - 1 ? " (including overflows)" : "");
	}
}

enum column {
	CORE,
	FREQUENCY,
	MINIMUM,
	AVERAGE,
	MAXIMUM,
	RANGE,
	DURATION,
};

static void print_row(FILE *out, const struct outcome *o, enum column column, const char *name,
                      const char *unit)
{
	fprintf(out, "%12s:\t", name);
	for (size_t i = 0; i < o->run->n_measured; i++) {
		const struct figures *f = &o->figures[i];
		unsigned long long min = us(f->loop_min_ns), max = us(f->longest_ns);
		const double values[] = {
			[CORE] = f->cpu,
			[FREQUENCY] = (double)(long long)(clock_hz(&o->run->scale) / 1e6 + 0.5),
			[MINIMUM] = (double)min,
			[AVERAGE] = f->loop_mean_ns / 1000,
			[MAXIMUM] = (double)max,
			[RANGE] = (double)(max - min),
			[DURATION] = (double)f->elapsed_ns / 1e9,
		};

		fprintf(out, " %.*f", column == AVERAGE || column == DURATION ? 3 : 0,
		        values[column]);
	}
	fprintf(out, "%s\n", unit);
}

void print_oslat(FILE *out, const struct outcome *o)
{
	print_row(out, o, CORE, "Core", "");
	print_row(out, o, FREQUENCY, "Counter Freq", " (Mhz)");
	print_buckets(out, o);
	print_row(out, o, MINIMUM, "Minimum", " (us)");
	print_row(out, o, AVERAGE, "Average", " (us)");
	print_row(out, o, MAXIMUM, "Maximum", " (us)");
	print_row(out, o, RANGE, "Max-Min", " (us)");
	print_row(out, o, DURATION, "Duration", " (sec)");
}

void print_oslat_json(FILE *out, const struct outcome *o)
{
	_cleanup_free_ char *words = oslat_command(o->args->argv + 1), *command = NULL;
	struct oslat_run run = { .program = "isolprobe",
		                 .start = o->run->start,
		                 .end = o->run->end,
		                 .return_code = o->run->doubts ? 2 : 0,
		                 .root = &o->sys->root };
	json_t *document;

	command = xasprintf("isolprobe%s%s", *words ? " " : "", words);
	run.command = command;
	document = oslat_json(&run);
	for (size_t i = 0; i < o->run->n_measured; i++)
		oslat_json_add(document, &o->figures[i], o->run->measured[i].record);
	json_dumpf(document, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	fputc('\n', out);
	json_decref(document);
}
