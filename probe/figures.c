/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "figures.h"

const char *const class_names[ISOLPROBE_CLASSES] = {
	[ISOLPROBE_SWITCHED] = "switched out",
	[ISOLPROBE_RETURN] = "kernel work in the thread",
	[ISOLPROBE_INTERRUPT] = "interrupt or below the kernel",
};

const char *const class_keys[ISOLPROBE_CLASSES] = {
	[ISOLPROBE_SWITCHED] = "switched-out",
	[ISOLPROBE_RETURN] = "return-to-user",
	[ISOLPROBE_INTERRUPT] = "interrupt",
};

const struct percentile percentiles[N_PERCENTILES] = {
	{ 0.5, "50" },     { 0.9, "90" },       { 0.99, "99" },
	{ 0.999, "99.9" }, { 0.9999, "99.99" }, { 0.99999, "99.999" },
};

static void add_breaks(struct figures *f, const struct tick_record *r)
{
	const struct clock_scale *scale = &r->scale;

	for (unsigned int i = 0; i < ISOLPROBE_CLASSES; i++) {
		const struct tick_total *total = &r->breaks[i];
		struct class_figures *c = &f->by_class[i];

		histogram_merge(&f->all, &r->by_class[i]);
		if (!total->n)
			continue;
		*c = (struct class_figures){ total->n, clock_ns(scale, total->length),
			                     clock_ns(scale, total->max) };
		f->n += c->n;
		f->total_ns += c->total_ns;
		f->max_ns = c->max_ns > f->max_ns ? c->max_ns : f->max_ns;
	}
	if (f->n)
		f->min_ns = clock_ns(scale, r->min);
	for (unsigned int i = 0; i < N_PERCENTILES; i++)
		f->percentiles_ns[i] =
			clock_ns(scale, histogram_quantile(&f->all, f->n, percentiles[i].part,
		                                           r->min, r->max));
}

void figures_make(struct figures *f, const struct tick_record *r, unsigned int cpu)
{
	const struct clock_scale *scale = &r->scale;
	uint64_t undisturbed;

	*f = (struct figures){
		.cpu = cpu,
		.loops = r->ticks,
		.elapsed_ns = clock_ns(scale, r->end - r->begin),
		.busy_ns = clock_ns(scale, r->busy),
		.counted_from_ns = clock_ns(scale, r->limit - r->loop),
		.loop_median_ns = clock_ns(scale, r->loop),
		.loop_min_ns = clock_ns(scale, r->shortest),
		.longest_ns = clock_ns(scale, r->max ? r->max + r->loop : r->limit),
		.quiet_ns = clock_ns(scale, r->quiet),
	};
	add_breaks(f, r);
	f->rate = rate_poisson(f->n, f->elapsed_ns);
	if (!f->loops || !f->elapsed_ns)
		return;
	f->coverage = 1 - (double)f->busy_ns / (double)f->elapsed_ns;
	f->loop_mean_ns = (double)f->elapsed_ns / (double)f->loops;
	undisturbed = f->elapsed_ns - f->busy_ns;
	undisturbed -= f->total_ns < undisturbed ? f->total_ns : undisturbed;
	f->loop_quiet_ns = (double)undisturbed / (double)f->loops;
}
