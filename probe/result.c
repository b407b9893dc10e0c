/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The record of a thread as the public result of isolprobe.h. */
#include <stdlib.h>

#include "tick.h"

struct result {
	struct isolprobe_result shown; /* first: it is what the caller holds */
	struct clock_scale scale;
	uint64_t min, max; /* breaks, in steps */
	struct histogram gaps;
	struct isolprobe_gap list[];
};

static struct isolprobe_gap convert(const struct tick_record *r, const struct tick_gap *gap)
{
	return (struct isolprobe_gap){
		.start_ns = clock_at(&r->scale, &r->begin_point, gap->start),
		.length_ns = clock_ns(&r->scale, gap->length),
		.cpu = gap->cpu,
		.what = gap->what,
	};
}

static void add_lists(struct result *result, const struct tick_record *r)
{
	struct isolprobe_result *shown = &result->shown;
	struct isolprobe_gap *next = result->list;

	shown->worst = next;
	for (uint32_t i = 0; i < r->worst.n && tick_worst(r)[i].length >= r->threshold; i++)
		*next++ = convert(r, &tick_worst(r)[i]);
	shown->n_worst = (uint32_t)(next - shown->worst);
	shown->first = next;
	shown->n_first = r->n_first;
	for (uint32_t i = 0; i < r->n_first; i++)
		*next++ = convert(r, &r->first[i]);
}

static void add_classes(struct result *result, const struct tick_record *r)
{
	struct isolprobe_result *shown = &result->shown;

	for (unsigned int i = 0; i < ISOLPROBE_CLASSES; i++) {
		const struct tick_total *total = &r->breaks[i];

		histogram_merge(&result->gaps, &r->by_class[i]);
		if (!total->n)
			continue;
		shown->by_class[i].n = total->n;
		shown->by_class[i].total_ns = clock_ns(&r->scale, total->length);
		shown->by_class[i].max_ns = clock_ns(&r->scale, total->max);
		shown->n_gaps += total->n;
		shown->total_ns += shown->by_class[i].total_ns;
		if (shown->max_ns < shown->by_class[i].max_ns)
			shown->max_ns = shown->by_class[i].max_ns;
	}
}

struct isolprobe_result *isolprobe_end_(const struct isolprobe *probe)
{
	struct tick_record *r = tick_take(probe);
	struct result *result;

	if (!r)
		return NULL;
	result = calloc(1, sizeof(*result) + (r->worst.n + r->n_first) * sizeof(*result->list));
	if (result) {
		result->scale = r->scale;
		result->min = r->min;
		result->max = r->max;
		result->shown = (struct isolprobe_result){
			.elapsed_ns = clock_ns(&r->scale, r->end - r->begin),
			.busy_ns = clock_ns(&r->scale, r->busy),
			.ticks = r->ticks,
			.loop_ns = clock_ns(&r->scale, r->loop),
			.threshold_ns = clock_ns(&r->scale, r->threshold),
			.quiet_ns = clock_ns(&r->scale, r->quiet),
			.doubts = (r->backwards ? ISOLPROBE_BACKWARDS : 0) |
			          (r->cpu != r->end_cpu ? ISOLPROBE_MIGRATED : 0) |
			          (r->rseq ? 0 : ISOLPROBE_NO_RSEQ),
		};
		add_classes(result, r);
		add_lists(result, r);
	}
	tick_free(r);
	return result ? &result->shown : NULL;
}

void isolprobe_free(struct isolprobe_result *result)
{
	free(result);
}

uint64_t isolprobe_percentile(const struct isolprobe_result *result, double percent)
{
	const struct result *all = (const struct result *)(const void *)result;
	double part = percent < 0 ? 0 : percent > 100 ? 1 : percent / 100;

	return clock_ns(&all->scale,
	                histogram_quantile(&all->gaps, result->n_gaps, part, all->min, all->max));
}
