/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "causes.h"

#include <sys/mman.h>

#include "../attach.h"
#include "../trace_close.h"

#define RING_SIZE ((size_t)4 << 20) /* of the events of one CPU: 80,000 between two looks */

static int open_watch(struct causes *c, const struct system *sys, const struct cpumask *cpus,
                      struct error *err)
{
	int rc = trace_watch_open(&c->watch, sys, cpus, NULL, RING_SIZE, err);

	if (rc)
		return rc;
	/* This process is the command: its threads are learnt of as they are started. */
	trace_watch_start(&c->watch, getpid(), monotonic_ns());
	return 0;
}

int causes_open(struct causes *c, const struct arguments *args, const struct system *sys,
                const struct cpumask *cpus, struct error *err)
{
	_cleanup_error_ struct error why = ERROR_INIT;

	if (args->causes == CAUSES_OFF)
		return 0;
	if (args->causes == CAUSES_AUTO && attached_record()) {
		c->unavailable = xstrdup("chisol looks for them, and has them in its report");
		return 0;
	}
	if (open_watch(c, sys, cpus, &why)) {
		trace_watch_free(&c->watch);
		if (args->causes == CAUSES_REQUIRE)
			return error_move(err, &why);
		c->unavailable = xstrdup(why.text);
		return 0;
	}
	c->known = true;
	gap_watch_open(&c->gaps, &c->watch, cpus, args->n_gaps);
	c->feeds = xcalloc(cpumask_weight(cpus), sizeof(*c->feeds));
	for (; c->n_feeds < cpumask_weight(cpus); c->n_feeds++) {
		/* Touched, as the thread that measures is to have no page faults. */
		void *ring = mmap(NULL, sizeof(struct gap_ring), PROT_READ | PROT_WRITE,
		                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (ring == MAP_FAILED)
			out_of_memory();
		c->feeds[c->n_feeds].ring = ring;
	}
	return 0;
}

struct gap_ring *causes_ring(const struct causes *c, size_t i)
{
	return c->known ? c->feeds[i].ring : NULL;
}

void causes_begin(struct causes *c)
{
	if (!c->known)
		return;
	/* What was before, in the preheat, is nobody's gap. */
	gap_watch_point(&c->gaps);
	gap_watch_events(&c->gaps);
	c->watch.began = monotonic_ns();
}

void causes_poll(struct causes *c)
{
	if (!c->known)
		return;
	gap_watch_point(&c->gaps);
	gap_watch_events(&c->gaps);
	for (size_t i = 0; i < c->n_feeds; i++)
		gap_watch_feed(&c->gaps, &c->feeds[i]);
	gap_watch_join(&c->gaps);
}

void causes_begin_window(struct causes *c, size_t i, const struct clock_point *begin)
{
	if (!c->known)
		return;
	join_loop_begins(&c->gaps.join.cpus[i], begin->ns);
	c->feeds[i].begin = *begin;
}

void causes_end_window(struct causes *c, size_t i, uint64_t ns)
{
	if (c->known)
		join_loop_ends(&c->gaps.join.cpus[i], c->feeds[i].begin.ns, ns);
}

void causes_end(struct causes *c)
{
	if (!c->known)
		return;
	gap_watch_point(&c->gaps);
	gap_watch_last_events(&c->gaps, monotonic_ns());
	for (size_t i = 0; i < c->n_feeds; i++) {
		gap_watch_feed(&c->gaps, &c->feeds[i]);
		c->gaps.join.cpus[i].lost += c->feeds[i].lost;
	}
	gap_watch_finish(&c->gaps);
}

const struct join_gap *causes_find(const struct causes *c, size_t i, const struct tick_gap *gap)
{
	return c->known ? join_find(&c->gaps.join.cpus[i], gap->start) : NULL;
}

void causes_free(struct causes *c)
{
	for (size_t i = 0; i < c->n_feeds; i++)
		munmap(c->feeds[i].ring, sizeof(struct gap_ring));
	free(c->feeds);
	gap_watch_free(&c->gaps);
	if (c->known)
		trace_close_by_child(&c->watch.events);
	trace_watch_free(&c->watch);
	free(c->unavailable);
	*c = (struct causes){ 0 };
}
