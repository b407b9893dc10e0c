/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of sysjitter 1.4 with --verbose's order of rows, one column for each CPU. Where that
 * one rounds the counter to MHz, lengths here come from the clock of the run.
 */
#include "print.h"

struct cell {
	const struct outcome *o;
	const struct figures *f;
};

static double frequency(const struct cell *c)
{
	return clock_hz(&c->o->run->scale) / 1e6;
}

static double runtime_s(const struct cell *c)
{
	return (double)c->f->elapsed_ns / 1e9;
}

static double per_second(const struct cell *c)
{
	return c->f->rate.per_second;
}

static double total_percent(const struct cell *c)
{
	return c->f->elapsed_ns ? 100.0 * (double)c->f->total_ns / (double)c->f->elapsed_ns : 0;
}

static double core(const struct cell *c)
{
	return c->f->cpu;
}

static double threshold(const struct cell *c)
{
	return (double)c->o->run->threshold_ns;
}

static double runtime_ns(const struct cell *c)
{
	return (double)c->f->elapsed_ns;
}

static double number(const struct cell *c)
{
	return (double)c->f->n;
}

static double least(const struct cell *c)
{
	return (double)c->f->min_ns;
}

static double mean(const struct cell *c)
{
	return c->f->n ? (double)c->f->total_ns / (double)c->f->n : 0;
}

static double most(const struct cell *c)
{
	return (double)c->f->max_ns;
}

static double total(const struct cell *c)
{
	return (double)c->f->total_ns;
}

static const struct row {
	const char *name;
	int decimals;
	double (*value)(const struct cell *c);
	int percentile; /* without value: the index of one */
} rows[] = {
	{ "core_i", 0, core, 0 },
	{ "threshold(ns)", 0, threshold, 0 },
	{ "cpu_mhz", 0, frequency, 0 },
	{ "runtime(ns)", 0, runtime_ns, 0 },
	{ "runtime(s)", 3, runtime_s, 0 },
	{ "int_n", 0, number, 0 },
	{ "int_n_per_sec", 3, per_second, 0 },
	{ "int_min(ns)", 0, least, 0 },
	{ "int_median(ns)", 0, NULL, 0 },
	{ "int_mean(ns)", 0, mean, 0 },
	{ "int_90(ns)", 0, NULL, 1 },
	{ "int_99(ns)", 0, NULL, 2 },
	{ "int_999(ns)", 0, NULL, 3 },
	{ "int_9999(ns)", 0, NULL, 4 },
	{ "int_99999(ns)", 0, NULL, 5 },
	{ "int_max(ns)", 0, most, 0 },
	{ "int_total(ns)", 0, total, 0 },
	{ "int_total(%)", 3, total_percent, 0 },
};

void print_sysjitter(FILE *out, const struct outcome *o)
{
	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		fprintf(out, "%s:", rows[row].name);
		for (size_t i = 0; i < o->run->n_measured; i++) {
			struct cell cell = { o, &o->figures[i] };

			fprintf(out, " %.*f", rows[row].decimals,
			        rows[row].value
			                ? rows[row].value(&cell)
			                : (double)cell.f->percentiles_ns[rows[row].percentile]);
		}
		fputc('\n', out);
	}
}
