/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "print.h"

#include "../../isolcore/utc.h"
#include "../join_json.h"

#define SCHEMA 1 /* raised when a key goes or changes its meaning */

static void set_integer(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void set_real(json_t *object, const char *key, double value)
{
	json_object_set_new(object, key, json_real(value));
}

static void set_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, json_string(text));
}

static void set_cpus(json_t *object, const char *key, const struct cpumask *cpus)
{
	_cleanup_free_ char *list = cpumask_list(cpus);

	set_text(object, key, list);
}

static void set_time(json_t *object, const char *key, time_t when)
{
	_cleanup_free_ char *text = utc_text(when);

	set_text(object, key, text);
}

static json_t *clock_object(const struct run *run)
{
	const struct clock_quality *q = &run->measured[0].clock;
	double step = 1e9 / clock_hz(&run->scale);
	json_t *object = json_object();

	set_real(object, "frequency_hz", clock_hz(&run->scale));
	set_text(object, "source", run->scale_is_kernels ? "kernel" : "fitted");
	set_real(object, "granularity_ns", (double)q->granularity * step);
	set_real(object, "read_ns", q->read_cost * step);
	set_integer(object, "skew_ns", run->skew_ns);
	return object;
}

static json_t *gap_array(const struct outcome *o, size_t cpu, const struct tick_gap *gaps,
                         uint32_t n)
{
	const struct tick_record *r = o->run->measured[cpu].record;
	json_t *array = json_array();

	for (uint32_t i = 0; i < n && gaps[i].length >= r->threshold; i++) {
		json_t *object = json_object();

		set_integer(object, "start_ns",
		            clock_at(&r->scale, &r->begin_point, gaps[i].start));
		set_integer(object, "after_ns", clock_ns(&r->scale, gaps[i].start - r->begin));
		set_integer(object, "length_ns", clock_ns(&r->scale, gaps[i].length));
		set_integer(object, "cpu", gaps[i].cpu);
		set_text(object, "class", class_keys[gaps[i].what]);
		if (o->run->causes.known)
			join_json_gap(object, causes_find(&o->run->causes, cpu, &gaps[i]));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *bucket_object(uint64_t from_ns, uint64_t to_ns, uint64_t n)
{
	json_t *object = json_object();

	set_integer(object, "from_ns", from_ns);
	set_integer(object, "to_ns", to_ns);
	set_integer(object, "count", n);
	return object;
}

/* The first bucket has the passes that were not looked at: with the others it makes all loops. */
static json_t *histogram_array(const struct figures *f, const struct tick_record *r)
{
	uint64_t counted = histogram_total(&f->all, 0).n;
	json_t *array = json_array();

	json_array_append_new(array, bucket_object(0, f->counted_from_ns, f->loops - counted));
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (f->all.buckets[i].n)
			json_array_append_new(
				array, bucket_object(clock_ns(&r->scale, histogram_low(i)),
			                             clock_ns(&r->scale, histogram_low(i + 1)),
			                             f->all.buckets[i].n));
	return array;
}

static json_t *breaks_object(const struct figures *f)
{
	json_t *object = json_object(), *rate = json_object(), *part = json_object(),
	       *classes = json_object();

	set_integer(object, "count", f->n);
	set_integer(object, "total_ns", f->total_ns);
	set_integer(object, "min_ns", f->min_ns);
	set_integer(object, "max_ns", f->max_ns);
	set_real(object, "mean_ns", f->n ? (double)f->total_ns / (double)f->n : 0);
	set_real(rate, "value", f->rate.per_second);
	set_real(rate, "low_95", f->rate.low);
	set_real(rate, "high_95", f->rate.high);
	json_object_set_new(object, "per_second", rate);
	for (unsigned int i = 0; i < N_PERCENTILES; i++)
		set_integer(part, percentiles[i].key, f->percentiles_ns[i]);
	json_object_set_new(object, "percentiles_ns", part);
	for (unsigned int i = 0; i < ISOLPROBE_CLASSES; i++) {
		json_t *class = json_object();

		set_integer(class, "count", f->by_class[i].n);
		set_integer(class, "total_ns", f->by_class[i].total_ns);
		set_integer(class, "max_ns", f->by_class[i].max_ns);
		json_object_set_new(classes, class_keys[i], class);
	}
	json_object_set_new(object, "by_class", classes);
	return object;
}

static json_t *cpu_object(const struct outcome *o, size_t i)
{
	const struct figures *f = &o->figures[i];
	const struct measured *m = &o->run->measured[i];
	const struct causes *c = &o->run->causes;
	const struct tick_record *r = m->record;
	json_t *object = json_object(), *loop = json_object();

	set_integer(object, "cpu", f->cpu);
	set_integer(object, "elapsed_ns", f->elapsed_ns);
	set_integer(object, "loops", f->loops);
	set_real(loop, "mean_ns", f->loop_mean_ns);
	set_real(loop, "mean_undisturbed_ns", f->loop_quiet_ns);
	set_integer(loop, "median_ns", f->loop_median_ns);
	set_integer(loop, "min_ns", f->loop_min_ns);
	set_integer(loop, "max_ns", f->longest_ns);
	json_object_set_new(object, "loop", loop);
	set_integer(object, "probe_busy_ns", f->busy_ns);
	set_real(object, "coverage", f->coverage);
	set_integer(object, "longest_quiet_ns", f->quiet_ns);
	json_object_set_new(object, "rseq", json_boolean(r->rseq));
	if (m->has_run_delay)
		set_integer(object, "run_delay_ns", m->run_delay_ns);
	json_object_set_new(object, "breaks", breaks_object(f));
	json_object_set_new(object, "causes", c->known ? join_json_cpu(&c->gaps, i) : json_null());
	json_object_set_new(object, "histogram", histogram_array(f, r));
	json_object_set_new(object, "worst", gap_array(o, i, tick_worst(r), r->worst.n));
	json_object_set_new(object, "first", gap_array(o, i, r->first, r->n_first));
	return object;
}

void print_json(FILE *out, const struct outcome *o)
{
	const struct run *run = o->run;
	json_t *root = json_object(), *doubts = json_array(), *cpus = json_array();

	set_text(root, "isolprobe", CHISOL_VERSION);
	set_integer(root, "schema", SCHEMA);
	set_time(root, "start_time", run->start);
	set_time(root, "end_time", run->end);
	set_text(root, "ended_by", run->interrupted ? "signal" : "duration");
	set_cpus(root, "cpus", &run->cpus);
	set_cpus(root, "control_cpus", &run->control);
	set_text(root, "workload", workload_names[o->args->workload]);
	set_integer(root, "priority", (uint64_t)o->args->priority);
	json_object_set_new(root, "memory_locked", json_boolean(!run->unlocked));
	set_integer(root, "threshold_ns", run->threshold_ns);
	set_text(root, "threshold_from", o->args->threshold_ns ? "option" : "valley");
	json_object_set_new(root, "clock", clock_object(run));
	set_text(root, "causes_asked", when_names[o->args->causes]);
	json_object_set_new(root, "causes_unavailable",
	                    run->causes.unavailable ? json_string(run->causes.unavailable)
	                                            : json_null());
	for (unsigned int i = 0; i < DOUBTS; i++)
		if (run->doubts & 1u << i)
			json_array_append_new(doubts, json_string(doubt_keys[i]));
	json_object_set_new(root, "doubts", doubts);
	for (size_t i = 0; i < run->n_measured; i++)
		json_array_append_new(cpus, cpu_object(o, i));
	json_object_set_new(root, "measured", cpus);
	json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	fputc('\n', out);
	json_decref(root);
}
