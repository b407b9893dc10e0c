/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oslat.h"

#include <sys/utsname.h>

static unsigned long long us(uint64_t ns)
{
	return ns / 1000;
}

struct us_histogram us_begin(const struct figures *f, const struct tick_record *r)
{
	uint64_t counted = histogram_total(&f->all, 0).n;

	return (struct us_histogram){ f, r, 0, f->loops > counted ? f->loops - counted : 0 };
}

bool us_next(struct us_histogram *h, unsigned long long *floor_us, uint64_t *n)
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

static void set_time(json_t *object, const char *key, time_t when)
{
	char text[64] = "";
	struct tm utc;

	if (gmtime_r(&when, &utc))
		strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S +0000", &utc);
	json_object_set_new(object, key, json_string(text));
}

static json_t *sysinfo(const struct sysroot *root)
{
	struct utsname uts = { 0 };

	uname(&uts);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i}", "sysname", uts.sysname, "nodename",
	                 uts.nodename, "release", uts.release, "version", uts.version, "machine",
	                 uts.machine, "realtime", sysroot_exists(root, "/sys/kernel/realtime"));
}

char *oslat_command(char *const *argv)
{
	char *words = NULL;

	for (; *argv; argv++)
		xappend(&words, "%s%s", words ? " " : "", *argv);
	return words ? words : xstrdup("");
}

json_t *oslat_json(const struct oslat_run *run)
{
	/* The first keys have their colon inside in oslat's files. */
	static const char *const cmdline[] = { "cmdline:", "cmdline" }, *const version[] = {
		"rt_test_version:", "rt_test_version"
	};
	json_t *root = json_object();

	json_object_set_new(root, "file_version", json_integer(1));
	for (size_t i = 0; i < ARRAY_SIZE(cmdline); i++) {
		/* An argument need not be UTF-8, JSON has to be. */
		json_t *text = json_string(run->command);

		json_object_set_new(root, cmdline[i], text ? text : json_string(run->program));
		json_object_set_new(root, version[i], json_string("2.10"));
	}
	set_time(root, "start_time", run->start);
	set_time(root, "end_time", run->end);
	json_object_set_new(root, "return_code", json_integer(run->return_code));
	json_object_set_new(root, "sysinfo", sysinfo(run->root));
	json_object_set_new(root, "num_threads", json_integer(0));
	json_object_set_new(root, "thread", json_object());
	json_object_set_new(root, "chisol", json_pack("{s:s}", run->program, CHISOL_VERSION));
	return root;
}

static json_t *thread(const struct figures *f, const struct tick_record *r)
{
	struct us_histogram h = us_begin(f, r);
	json_t *object = json_object(), *histogram = json_object();
	unsigned long long at;
	uint64_t n;

	json_object_set_new(object, "cpu", json_integer(f->cpu));
	json_object_set_new(object, "freq",
	                    json_integer((json_int_t)(clock_hz(&r->scale) / 1e6 + 0.5)));
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

void oslat_json_add(json_t *document, const struct figures *f, const struct tick_record *r)
{
	json_t *threads = json_object_get(document, "thread");
	size_t n = json_object_size(threads);
	_cleanup_free_ char *index = xasprintf("%zu", n);

	json_object_set_new(threads, index, thread(f, r));
	json_object_set_new(document, "num_threads", json_integer((json_int_t)n + 1));
	json_object_set_new(json_object_get(document, "chisol"), "threshold_ns",
	                    json_integer((json_int_t)clock_ns(&r->scale, r->threshold)));
}
