/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text and the JSON of oslat 2.10 (rt-tests), in its own words, for what reads them. Its
 * figures are of whole passes of the loop, in whole us, rounded down; a bucket is called by its
 * upper edge. Different, because oslat's is wrong: the average is the true mean (not that of upper
 * edges), the duration comes from the clock of the run (not from a counter rounded to MHz), there
 * is no overflow in the JSON, and its text is quoted. A gap of more than 128 us may be counted in
 * the bucket beside its own.
 */
#include "print.h"

#include <jansson.h>
#include <sys/utsname.h>

#define ROWS \
	32 /* of the text's histogram; the last one takes all that is longer, as oslat's does */

static unsigned long long us(uint64_t ns)
{
	return ns / 1000;
}

/* Passes by whole us; what was not looked at one by one is where the loop is. */
struct us_histogram {
	const struct figures *f;
	const struct tick_record *r;
	unsigned int next;
	uint64_t uncounted;
};

static struct us_histogram us_begin(const struct outcome *o, size_t i)
{
	const struct figures *f = &o->figures[i];
	uint64_t counted = histogram_total(&f->all, 0).n;

	return (struct us_histogram){ f, o->run->measured[i].record, 0,
		                      f->loops > counted ? f->loops - counted : 0 };
}

/* The next us that has passes, in ascending order, and how many. */
static bool us_next(struct us_histogram *h, unsigned long long *floor_us, uint64_t *n)
{
	unsigned long long loop_us = us((uint64_t)h->f->loop_quiet_ns);

	*n = 0;
	while (h->next < HISTOGRAM_BUCKETS) {
		const struct histogram_bucket *b = &h->f->all.buckets[h->next];
		unsigned long long at;

		if (!b->n) {
			h->next++;
			continue;
		}
		at = us(clock_ns(&h->r->scale, b->sum / b->n + h->r->loop));
		if (*n && at != *floor_us)
			break;
		if (!*n && h->uncounted && at > loop_us)
			break;
		*floor_us = at;
		*n += b->n;
		h->next++;
	}
	if (h->uncounted && (!*n || *floor_us >= loop_us)) {
		*n += h->uncounted;
		*floor_us = *n == h->uncounted ? loop_us : *floor_us;
		h->uncounted = 0;
	}
	return *n;
}

static void print_buckets(FILE *out, const struct outcome *o)
{
	size_t n_cpus = o->run->n_measured;
	_cleanup_free_ uint64_t *counts = xcalloc(n_cpus * ROWS, sizeof(*counts));

	for (size_t i = 0; i < n_cpus; i++) {
		struct us_histogram h = us_begin(o, i);
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

static void set_time(json_t *object, const char *key, time_t when)
{
	char text[64] = "";
	struct tm utc;

	if (gmtime_r(&when, &utc))
		strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S +0000", &utc);
	json_object_set_new(object, key, json_string(text));
}

static json_t *sysinfo(const struct outcome *o)
{
	struct utsname uts = { 0 };
	json_t *object = json_object();

	uname(&uts);
	json_object_set_new(object, "sysname", json_string(uts.sysname));
	json_object_set_new(object, "nodename", json_string(uts.nodename));
	json_object_set_new(object, "release", json_string(uts.release));
	json_object_set_new(object, "version", json_string(uts.version));
	json_object_set_new(object, "machine", json_string(uts.machine));
	json_object_set_new(object, "realtime",
	                    json_integer(sysroot_exists(&o->sys->root, "/sys/kernel/realtime")));
	return object;
}

static json_t *thread(const struct outcome *o, size_t i)
{
	const struct figures *f = &o->figures[i];
	struct us_histogram h = us_begin(o, i);
	json_t *object = json_object(), *histogram = json_object();
	unsigned long long at;
	uint64_t n;

	json_object_set_new(object, "cpu", json_integer(f->cpu));
	json_object_set_new(object, "freq",
	                    json_integer((json_int_t)(clock_hz(&o->run->scale) / 1e6 + 0.5)));
	json_object_set_new(object, "min", json_integer((json_int_t)us(f->loop_min_ns)));
	json_object_set_new(object, "avg", json_real(f->loop_mean_ns / 1000));
	json_object_set_new(object, "max", json_integer((json_int_t)us(f->longest_ns)));
	json_object_set_new(object, "duration", json_real((double)f->elapsed_ns / 1e9));
	while (us_next(&h, &at, &n)) {
		_cleanup_free_ char *edge = xasprintf("%llu", at + 1);

		json_object_set_new(histogram, edge, json_integer((json_int_t)n));
	}
	json_object_set_new(object, "histogram", histogram);
	json_object_set_new(object, "unit", json_string("us"));
	json_object_set_new(object, "true_mean_us", json_real(f->loop_mean_ns / 1000));
	json_object_set_new(object, "min_ns", json_integer((json_int_t)f->loop_min_ns));
	json_object_set_new(object, "max_ns", json_integer((json_int_t)f->longest_ns));
	json_object_set_new(object, "overflow", json_integer(0));
	return object;
}

void print_oslat_json(FILE *out, const struct outcome *o)
{
	/* The first keys have their colon inside in oslat's files. */
	static const char *const cmdline[] = { "cmdline:", "cmdline" }, *const version[] = {
		"rt_test_version:", "rt_test_version"
	};
	json_t *root = json_object(), *threads = json_object(), *own = json_object();
	_cleanup_free_ char *words = xstrdup("isolprobe");

	for (int i = 1; i < o->args->argc; i++) {
		char *longer = xasprintf("%s %s", words, o->args->argv[i]);

		free(words);
		words = longer;
	}
	json_object_set_new(root, "file_version", json_integer(1));
	for (size_t i = 0; i < ARRAY_SIZE(cmdline); i++) {
		/* An argument need not be UTF-8, JSON has to be. */
		json_t *text = json_string(words);

		json_object_set_new(root, cmdline[i], text ? text : json_string("isolprobe"));
		json_object_set_new(root, version[i], json_string("2.10"));
	}
	set_time(root, "start_time", o->run->start);
	set_time(root, "end_time", o->run->end);
	json_object_set_new(root, "return_code", json_integer(o->run->doubts ? 2 : 0));
	json_object_set_new(root, "sysinfo", sysinfo(o));
	json_object_set_new(root, "num_threads", json_integer((json_int_t)o->run->n_measured));
	for (size_t i = 0; i < o->run->n_measured; i++) {
		_cleanup_free_ char *index = xasprintf("%zu", i);

		json_object_set_new(threads, index, thread(o, i));
	}
	json_object_set_new(root, "thread", threads);
	json_object_set_new(own, "isolprobe", json_string(CHISOL_VERSION));
	json_object_set_new(own, "threshold_ns", json_integer((json_int_t)o->run->threshold_ns));
	json_object_set_new(root, "chisol", own);
	json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	fputc('\n', out);
	json_decref(root);
}
