/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gap_watch.h"

static void on_break(void *ctx, const struct isolation_break *brk)
{
	struct gap_watch *gw = ctx;

	join_break(&gw->join, brk);
}

void gap_watch_open(struct gap_watch *gw, struct trace_watch *watch, const struct cpumask *cpus,
                    size_t keep)
{
	/* Gaps of time that was not seen are told by their class, and are not charged by that. */
	const struct trace_listener listener = { gw, on_break, NULL };

	*gw = (struct gap_watch){ .watch = watch };
	outside_open(&gw->outside, watch->sys, cpus);
	join_init(&gw->join, &gw->outside, keep);
	gw->lost = xcalloc(watch->n_cpus, sizeof(*gw->lost));
	trace_watch_listen(watch, &listener);
}

/* What has been lost, and which breaks have not ended, since the last look. */
static void look_at_watch(struct gap_watch *gw, uint64_t horizon)
{
	for (size_t i = 0; i < gw->watch->n_cpus; i++) {
		const struct watched_cpu *w = &gw->watch->cpus[i];
		struct join_cpu *c = join_cpu(&gw->join, w->cpu);

		if (!c)
			continue;
		c->open_since = break_tracker_since(&w->tracker);
		if (w->lost != gw->lost[i])
			join_lost(&gw->join, w->cpu, gw->horizon, horizon);
		gw->lost[i] = w->lost;
	}
	gw->horizon = horizon;
}

/* When it ended, counter; 0: nonsense, as the gaps of a thread follow each other. */
static uint64_t end_of(const struct gap_feed *feed, const struct tick_gap *gap, uint64_t loop)
{
	uint64_t without, end;

	if (__builtin_add_overflow(gap->start, gap->length, &without) ||
	    __builtin_add_overflow(without, loop, &end))
		return 0;
	return gap->start < feed->end ? 0 : end;
}

/* False: when it was is not known well enough. */
static bool convert(const struct gap_watch *gw, const struct gap_feed *feed,
                    const struct tick_gap *gap, uint64_t end, struct join_gap *found)
{
	uint64_t without, off_start, off_end;

	*found = (struct join_gap){ .steps = gap->start, .what = gap->what };
	clock_line_at(&gw->line, gap->start, &found->start, &off_start);
	clock_line_at(&gw->line, end, &found->end, &off_end);
	clock_line_at(&gw->line, gap->start + gap->length, &without, &off_end);
	found->length = without - found->start;
	found->off = (off_start > off_end ? off_start : off_end) + feed->off;
	return feed->off <= JOIN_OFF_NS && found->off <= JOIN_OFF_NS;
}

static uint64_t steps_ns(const struct clock_line *line, uint64_t steps)
{
	uint64_t from = line->points[0].steps, begin = 0, end = 0, off;

	clock_line_at(line, from, &begin, &off);
	clock_line_at(line, from + steps, &end, &off);
	return end - begin;
}

/* How far the counters are apart is known from when the feed began. */
static void find_off(const struct clock_line *line, struct gap_feed *feed)
{
	uint64_t ns, off;

	if (feed->off || !clock_line_at(line, feed->begin.steps, &ns, &off))
		return;
	feed->off = ns > feed->begin.ns ? ns - feed->begin.ns : feed->begin.ns - ns;
}

void gap_watch_feed(struct gap_watch *gw, struct gap_feed *feed)
{
	struct gap_ring *ring = feed->ring;
	uint64_t threshold = __atomic_load_n(&ring->threshold, __ATOMIC_ACQUIRE);
	uint64_t loop = __atomic_load_n(&ring->loop, __ATOMIC_RELAXED);
	uint64_t blind = __atomic_load_n(&ring->blind, __ATOMIC_RELAXED);
	struct tick_gap gap;

	find_off(&gw->line, feed);
	/* No longer than the ring is, as the writer may go on. */
	for (unsigned int n = 0; threshold && gw->line.n > 1 && n < GAP_RING &&
	                         gap_ring_peek(ring, &feed->reader, &gap);
	     n++) {
		struct join_cpu *c = join_cpu(&gw->join, gap.cpu);
		uint64_t end = end_of(feed, &gap, loop);
		struct join_gap found;
		bool moved = feed->has_cpu && feed->cpu != gap.cpu;

		if (end > gw->line.points[gw->line.n - 1].steps)
			break; /* it has to wait for the next point */
		if (gap.length < threshold) {
			/* found before the threshold was */
		} else if (!c) {
			feed->elsewhere++;
		} else if (!end || gap.what >= ISOLPROBE_CLASSES ||
		           !convert(gw, feed, &gap, end, &found)) {
			feed->reader.lost++;
		} else {
			c->threshold = steps_ns(&gw->line, threshold);
			c->blind_ns = steps_ns(&gw->line, blind);
			found.signs = moved ? SIGN_MOVED : 0;
			join_gap(&gw->join, gap.cpu, &found);
			feed->last_end = found.end;
			feed->end = end;
		}
		feed->has_cpu = true;
		feed->cpu = gap.cpu;
		gap_ring_take(ring, &feed->reader);
	}
	feed->lost = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED) + feed->reader.lost;
}

void gap_watch_point(struct gap_watch *gw)
{
	struct clock_point now = clock_now();

	clock_line_add(&gw->line, now);
	outside_look(&gw->outside, now.ns);
}

void gap_watch_events(struct gap_watch *gw)
{
	uint64_t horizon = monotonic_ns() - TRACE_SETTLE_NS;

	trace_watch_read(gw->watch);
	look_at_watch(gw, horizon);
}

void gap_watch_join(struct gap_watch *gw)
{
	join_settle(&gw->join, gw->horizon);
}

void gap_watch_last_events(struct gap_watch *gw, uint64_t time)
{
	trace_watch_finish(gw->watch, time);
	look_at_watch(gw, time);
}

void gap_watch_finish(struct gap_watch *gw)
{
	join_finish(&gw->join);
	outside_finish(&gw->outside);
}

void gap_watch_free(struct gap_watch *gw)
{
	join_free(&gw->join);
	outside_free(&gw->outside);
	free(gw->lost);
	*gw = (struct gap_watch){ 0 };
}
