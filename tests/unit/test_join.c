/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gaps and breaks that are made up, and what they are charged to. Times are in ns. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../probe/gap_watch.h"
#include "tree.h"

#define MS        1000000ull
#define THRESHOLD 1000u
#define LOOP      10u
#define LATER     (3 * (uint64_t)JOIN_HOLD_NS)

struct world {
	struct outside_cpu cpus[3];
	struct outside_watch outside;
	struct join join;
};

/* A machine whose loops on CPU 0 and the next ones run all the time. */
static void world_open(struct world *w, size_t n_cpus)
{
	*w = (struct world){ .outside = { .cpus = w->cpus, .n_cpus = n_cpus } };
	for (unsigned int i = 0; i < n_cpus; i++)
		w->cpus[i].cpu = i;
	join_init(&w->join, &w->outside, 4);
	for (size_t i = 0; i < n_cpus; i++) {
		w->join.cpus[i].threshold = THRESHOLD;
		join_loop_begins(&w->join.cpus[i], 0);
		w->join.cpus[i].blind_ns = 300;
	}
}

static struct part part(enum trace_source source, uint64_t start, uint64_t end, unsigned int depth)
{
	struct symbols none = { 0 };
	struct part p = { .source = source, .start = start, .end = end, .depth = depth };

	cause_find(&p, &none);
	return p;
}

/* A break of some parts, charged to the by-th. */
static void tell(struct world *w, unsigned int cpu, struct part *parts, size_t n, size_t by)
{
	struct isolation_break brk = { .cpu = cpu,
		                       .start = parts[0].start,
		                       .end = parts[n - 1].end,
		                       .by = &parts[by],
		                       .parts = parts,
		                       .n_parts = n };

	join_break(&w->join, &brk);
}

static void tell_one(struct world *w, unsigned int cpu, enum trace_source source, uint64_t start,
                     uint64_t end)
{
	struct part p = part(source, start, end, 0);

	tell(w, cpu, &p, 1, 0);
}

static void gap(struct world *w, unsigned int cpu, enum isolprobe_class what, uint64_t start,
                uint64_t end)
{
	join_gap(&w->join, cpu,
	         &(struct join_gap){ .length = end - start - LOOP,
	                             .start = start,
	                             .end = end,
	                             .off = 50,
	                             .steps = start,
	                             .what = what });
}

static const char *charged(const struct world *w, unsigned int cpu, uint64_t start)
{
	const struct join_gap *g = join_find(&w->join.cpus[cpu], start);

	return !g ? "not kept" : g->cause ? g->cause->code : g->outside->code;
}

static void a_gap_is_longer_than_the_break_in_it(void **state)
{
	struct world w;
	const struct join_gap *g;

	(void)state;
	world_open(&w, 1);
	tell_one(&w, 0, TRACE_DEVICE, 10500, 14500);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 10000, 15000);
	join_finish(&w.join);
	assert_string_equal(charged(&w, 0, 10000), "device-irq");
	g = join_find(&w.join.cpus[0], 10000);
	assert_int_equal(g->seen, 4000);
	assert_int_equal(g->n_parts, 1);
	assert_int_equal(join_kernels(&w.join.cpus[0]).n, 1);
	assert_int_equal(join_foreign(&w.join.cpus[0]).n, 0);
	assert_int_equal(join_over(&w.join.cpus[0]).n, 1);
	assert_int_equal(join_over(&w.join.cpus[0]).joined, 1);
	join_free(&w.join);
}

static void of_two_breaks_in_a_gap_the_longer_one_is_its_cause(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 1);
	tell_one(&w, 0, TRACE_DEVICE, 10500, 12500);
	tell_one(&w, 0, TRACE_NMI, 13000, 19000);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 10000, 20000);
	join_finish(&w.join);
	assert_string_equal(charged(&w, 0, 10000), "nmi");
	assert_int_equal(join_find(&w.join.cpus[0], 10000)->seen, 8000);
	assert_int_equal(join_find(&w.join.cpus[0], 10000)->n_parts, 2);
	assert_int_equal(join_over(&w.join.cpus[0]).joined, 2);
	join_free(&w.join);
}

static void of_one_break_over_two_gaps_each_has_its_own_part(void **state)
{
	struct part parts[] = { part(TRACE_DEVICE, 10500, 12500, 0),
		                part(TRACE_NMI, 15000, 16500, 0) };
	struct world w;

	(void)state;
	world_open(&w, 1);
	tell(&w, 0, parts, 2, 0);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 10000, 13000);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 14500, 17000);
	join_finish(&w.join);
	assert_string_equal(charged(&w, 0, 10000), "device-irq");
	assert_string_equal(charged(&w, 0, 14500), "nmi");
	assert_int_equal(join_over(&w.join.cpus[0]).n, 1);
	join_free(&w.join);
}

static void a_part_that_was_not_seen_in_full_counts_as_far_as_the_gap_goes(void **state)
{
	struct part cut = part(TRACE_NMI, 12000, 90000, 0);
	struct world w;

	(void)state;
	world_open(&w, 1);
	cut.cut = true;
	tell(&w, 0, &cut, 1, 0);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 10000, 15000);
	join_finish(&w.join);
	assert_string_equal(charged(&w, 0, 10000), "nmi");
	assert_int_equal(join_find(&w.join.cpus[0], 10000)->seen, 3000);
	join_free(&w.join);
}

/* As when the kernel does not tell of the switch to a loop that was asleep before. */
static void a_turn_of_which_no_end_was_seen_ended_before_the_loop_ran(void **state)
{
	struct part parts[] = { part(TRACE_SLEEP, 1000, 24000, 0),
		                part(TRACE_DEVICE, 24000, 27000, 0) };
	struct world w;

	(void)state;
	world_open(&w, 1);
	parts[0].cut = true;
	tell(&w, 0, parts, 2, 0);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 10000, 12000);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 23000, 28000);
	join_finish(&w.join);
	assert_string_equal(charged(&w, 0, 10000), "hardware");
	assert_string_equal(charged(&w, 0, 23000), "device-irq");
	assert_int_equal(join_find(&w.join.cpus[0], 23000)->seen, 3000);
	assert_int_equal(join_find(&w.join.cpus[0], 23000)->n_parts, 1);
	join_free(&w.join);
}

static void what_a_break_is_charged_to_is_the_cause_of_its_gap(void **state)
{
	struct part parts[] = { part(TRACE_RESCHEDULE, 10500, 18000, 0),
		                part(TRACE_TASK, 18500, 19500, 0),
		                part(TRACE_SOFTIRQ, 11000, 17500, 1) };
	struct world w;

	(void)state;
	world_open(&w, 1);
	parts[2].end = 19500; /* tell() takes the end from it */
	tell(&w, 0, parts, 3, 1);
	gap(&w, 0, ISOLPROBE_SWITCHED, 10000, 20000);
	join_finish(&w.join);
	assert_string_equal(charged(&w, 0, 10000), "task");
	assert_int_equal(join_find(&w.join.cpus[0], 10000)->seen, 8500); /* depth 1 is in depth 0 */
	join_free(&w.join);
}

static void a_break_that_must_have_made_a_gap_and_did_not_is_told(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 1);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 10000, 15000);
	tell_one(&w, 0, TRACE_DEVICE, 10500, 14500);
	tell_one(&w, 0, TRACE_DEVICE, 15200, 16300); /* while the probe looked at the first */
	tell_one(&w, 0, TRACE_DEVICE, 50000, 50900); /* shorter than the threshold */
	tell_one(&w, 0, TRACE_NMI, 60000, 62000);
	join_finish(&w.join);
	assert_int_equal(join_over(&w.join.cpus[0]).n, 3);
	assert_int_equal(join_over(&w.join.cpus[0]).joined, 1);
	assert_int_equal(w.join.cpus[0].blind, 1);
	join_free(&w.join);
}

static void breaks_before_the_loop_and_after_it_need_no_gap(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 1);
	join_loop_ends(&w.join.cpus[0], 0, 90000);
	join_loop_begins(&w.join.cpus[0], 120000);
	join_loop_ends(&w.join.cpus[0], 120000, 150000);
	tell_one(&w, 0, TRACE_DEVICE, 89000, 95000);
	tell_one(&w, 0, TRACE_DEVICE, 100000, 110000);
	tell_one(&w, 0, TRACE_DEVICE, 119000, 121000);
	tell_one(&w, 0, TRACE_DEVICE, 130000, 140000); /* a gap is missing */
	tell_one(&w, 0, TRACE_DEVICE, 149000, 160000);
	join_finish(&w.join);
	assert_int_equal(join_over(&w.join.cpus[0]).n, 1);
	join_free(&w.join);
}

static void an_interrupt_that_only_came_first_is_not_the_cause_of_a_long_gap(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 1);
	w.outside.vm = true;
	tell_one(&w, 0, TRACE_DEVICE, 10500, 12500);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 10000, 10000 + 20 * MS);
	/* Leaving a guest takes its time: */
	tell_one(&w, 0, TRACE_DEVICE, 30 * MS + 20000, 30 * MS + 21000);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 30 * MS, 30 * MS + 30000);
	join_finish(&w.join);
	assert_string_equal(charged(&w, 0, 10000), "hypervisor");
	assert_string_equal(charged(&w, 0, 30 * MS), "device-irq");
	assert_int_equal(join_over(&w.join.cpus[0]).joined, 2);
	join_free(&w.join);
}

static void a_thread_that_was_moved_is_away_until_it_is_back(void **state)
{
	struct part parts[] = { part(TRACE_TASK, 10500, 20000, 0),
		                part(TRACE_MIGRATION, 20000, 20000, 0) };
	struct world w;

	(void)state;
	world_open(&w, 1);
	tell(&w, 0, parts, 2, 1);
	gap(&w, 0, ISOLPROBE_SWITCHED, 10000, 50 * MS);
	join_finish(&w.join);
	assert_string_equal(charged(&w, 0, 10000), "migration");
	join_free(&w.join);
}

static void without_an_event_the_class_and_the_signs_decide(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 1);
	gap(&w, 0, ISOLPROBE_SWITCHED, 1 * MS, 2 * MS);
	gap(&w, 0, ISOLPROBE_RETURN, 3 * MS, 4 * MS);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 5 * MS, 6 * MS);
	join_finish(&w.join);
	assert_string_equal(charged(&w, 0, 1 * MS), "unseen-task");
	assert_string_equal(charged(&w, 0, 3 * MS), "unseen-work");
	assert_string_equal(charged(&w, 0, 5 * MS), "hardware");
	assert_int_equal(join_kernels(&w.join.cpus[0]).n, 2);
	assert_int_equal(join_foreign(&w.join.cpus[0]).n, 1);
	assert_int_equal(w.join.cpus[0].named.n, 0);
	join_free(&w.join);
}

static void of_several_loops_on_a_cpu_one_has_the_others_gap(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 1);
	join_loop_begins(&w.join.cpus[0], 10 * MS);
	join_loop_ends(&w.join.cpus[0], 10 * MS, 20 * MS);
	gap(&w, 0, ISOLPROBE_SWITCHED, 11 * MS, 12 * MS);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 13 * MS, 14 * MS);
	gap(&w, 0, ISOLPROBE_SWITCHED, 21 * MS, 22 * MS);
	join_finish(&w.join);
	assert_string_equal(charged(&w, 0, 11 * MS), "shared-cpu");
	assert_string_equal(charged(&w, 0, 13 * MS), "hardware");
	assert_string_equal(charged(&w, 0, 21 * MS), "unseen-task");
	join_free(&w.join);
}

static void a_thread_that_was_moved_has_its_gap_where_it_goes_on(void **state)
{
	struct part parts[] = { part(TRACE_TASK, 10500, 20000, 0),
		                part(TRACE_MIGRATION, 20000, 20000, 0) };
	struct join_gap back = { .length = 5 * MS - LOOP,
		                 .start = 50 * MS,
		                 .end = 55 * MS,
		                 .steps = 50 * MS,
		                 .what = ISOLPROBE_SWITCHED,
		                 .signs = SIGN_MOVED };
	struct world w;

	(void)state;
	world_open(&w, 1);
	tell(&w, 0, parts, 2, 1);
	join_gap(&w.join, 0, &back);
	join_finish(&w.join);
	assert_int_equal(join_over(&w.join.cpus[0]).n, 0);
	assert_string_equal(charged(&w, 0, 50 * MS), "moved");
	join_free(&w.join);
}

static void a_gap_of_all_cpus_at_once_is_the_firmwares(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 3);
	for (unsigned int cpu = 0; cpu < 3; cpu++)
		gap(&w, cpu, ISOLPROBE_INTERRUPT, MS + cpu * 100ull, 2 * MS + cpu * 100ull);
	for (unsigned int cpu = 0; cpu < 2; cpu++)
		gap(&w, cpu, ISOLPROBE_INTERRUPT, 5 * MS, 6 * MS);
	/* At the same time, and explained: */
	gap(&w, 0, ISOLPROBE_INTERRUPT, 8 * MS, 8 * MS + 5000);
	gap(&w, 1, ISOLPROBE_INTERRUPT, 8 * MS, 8 * MS + 5000);
	tell_one(&w, 1, TRACE_NMI, 8 * MS + 500, 8 * MS + 4500);
	join_finish(&w.join);
	for (unsigned int cpu = 0; cpu < 3; cpu++) {
		assert_string_equal(charged(&w, cpu, MS + cpu * 100ull), "firmware");
		assert_int_equal(w.join.cpus[cpu].everywhere, 1);
	}
	assert_string_equal(charged(&w, 0, 5 * MS), "hardware");
	assert_int_equal(join_find(&w.join.cpus[0], 5 * MS)->signs, SIGN_TOGETHER);
	assert_int_equal(join_find(&w.join.cpus[0], 8 * MS)->signs, 0);
	assert_int_equal(w.join.cpus[0].together, 3);
	assert_int_equal(w.join.cpus[2].together, 1);
	join_free(&w.join);
}

static void a_virtual_machine_that_stood_still_is_the_hypervisors(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 2);
	w.outside.vm = true;
	for (unsigned int cpu = 0; cpu < 2; cpu++)
		gap(&w, cpu, ISOLPROBE_INTERRUPT, MS, 2 * MS);
	join_finish(&w.join);
	assert_string_equal(charged(&w, 0, MS), "hypervisor");
	assert_int_equal(join_find(&w.join.cpus[0], MS)->signs,
	                 SIGN_VM | SIGN_TOGETHER | SIGN_EVERYWHERE);
	join_free(&w.join);
}

static void while_events_were_lost_nothing_is_blamed_on_others(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 1);
	w.outside.vm = true;
	join_lost(&w.join, 0, 10 * MS, 20 * MS);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 5 * MS, 6 * MS);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 15 * MS, 16 * MS);
	join_finish(&w.join);
	assert_string_equal(charged(&w, 0, 5 * MS), "hypervisor");
	assert_string_equal(charged(&w, 0, 15 * MS), "lost-events");
	join_free(&w.join);
}

static void gaps_and_breaks_may_come_in_any_order_before_they_are_settled(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 1);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 10000, 15000);
	join_settle(&w.join, 15100);
	tell_one(&w, 0, TRACE_DEVICE, 10500, 14500);
	tell_one(&w, 0, TRACE_NMI, 30500, 34500);
	join_settle(&w.join, 15100);
	assert_int_equal(w.join.cpus[0].all.n, 0);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 30000, 35000);
	join_settle(&w.join, LATER);
	assert_int_equal(w.join.cpus[0].named.n, 2);
	join_settle(&w.join, 2 * LATER);
	assert_int_equal(w.join.cpus[0].n_gaps, 0);
	assert_int_equal(w.join.cpus[0].n_breaks, 0);
	assert_int_equal(join_over(&w.join.cpus[0]).joined, 2);
	join_finish(&w.join);
	assert_string_equal(charged(&w, 0, 30000), "nmi");
	join_free(&w.join);
}

static void a_gap_waits_for_a_break_that_has_not_ended_but_not_for_ever(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 1);
	w.join.cpus[0].open_since = 9000;
	gap(&w, 0, ISOLPROBE_INTERRUPT, 10000, 15000);
	join_settle(&w.join, JOIN_TOGETHER_NS + 20 * MS);
	assert_int_equal(w.join.cpus[0].all.n, 0);
	join_settle(&w.join, LATER);
	assert_int_equal(w.join.cpus[0].all.n, 1);
	join_finish(&w.join);
	join_free(&w.join);
}

static void the_memory_for_what_is_not_joined_yet_is_bounded(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 1);
	for (uint64_t i = 0; i < JOIN_KEPT + 100; i++) {
		gap(&w, 0, ISOLPROBE_INTERRUPT, i * 10000, i * 10000 + 5000);
		tell_one(&w, 0, TRACE_NMI, i * 10000 + 500, i * 10000 + 4500);
	}
	assert_int_equal(w.join.cpus[0].n_gaps, JOIN_KEPT);
	assert_int_equal(w.join.cpus[0].lost, 100);
	assert_true(w.join.cpus[0].n_breaks <= JOIN_KEPT);
	join_finish(&w.join);
	assert_int_equal(w.join.cpus[0].all.n, JOIN_KEPT);
	assert_int_equal(join_over(&w.join.cpus[0]).n, JOIN_KEPT + 100);
	join_free(&w.join);
}

static void gaps_of_several_threads_on_a_cpu_are_put_in_order(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 1);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 50000, 55000);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 10000, 15000);
	gap(&w, 0, ISOLPROBE_INTERRUPT, 30000, 35000);
	join_settle(&w.join, 1);
	assert_int_equal(w.join.cpus[0].gaps[0].start, 10000);
	assert_int_equal(w.join.cpus[0].gaps[1].start, 30000);
	assert_int_equal(w.join.cpus[0].gaps[2].start, 50000);
	/* As many as there may be, each before those that are there. */
	for (uint64_t i = JOIN_KEPT; w.join.cpus[0].n_gaps < JOIN_KEPT; i--)
		gap(&w, 0, ISOLPROBE_INTERRUPT, i * 100000, i * 100000 + 5000);
	join_finish(&w.join);
	assert_int_equal(w.join.cpus[0].all.n, JOIN_KEPT);
	assert_int_equal(w.join.cpus[0].first[0].start, 10000);
	join_free(&w.join);
}

static void unknown_cpus_are_nobodys(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 1);
	gap(&w, 4711, ISOLPROBE_INTERRUPT, 1, 2000);
	tell_one(&w, 4711, TRACE_NMI, 1, 2000);
	join_lost(&w.join, 4711, 1, 2);
	join_finish(&w.join);
	assert_int_equal(w.join.cpus[0].all.n, 0);
	join_free(&w.join);
}

/* The counter at 2 GHz, and CLOCK_MONOTONIC that is slewed by 500 ppm from a moment on. */
static uint64_t slewed_ns(uint64_t steps, uint64_t from_steps)
{
	uint64_t ns = 7000000000u + steps / 2;

	return steps > from_steps ? ns + (steps - from_steps) / 4000 : ns;
}

static void times_are_right_within_what_is_said_while_the_clock_is_slewed(void **state)
{
	struct clock_line line = { 0 };
	const uint64_t poll = 200 * MS, from = 10 * poll + poll / 3;
	uint64_t ns, off, worst = 0;

	(void)state;
	assert_false(clock_line_at(&line, 5, &ns, &off));
	for (uint64_t i = 0; i < 30; i++)
		clock_line_add(&line,
		               (struct clock_point){ i * poll, slewed_ns(i * poll, from), 40 });
	for (uint64_t steps = poll; steps < 29 * poll; steps += 1234567) {
		uint64_t right = slewed_ns(steps, from), wrong;

		assert_true(clock_line_at(&line, steps, &ns, &off));
		wrong = ns > right ? ns - right : right - ns;
		assert_true(wrong <= off + 1);
		worst = wrong > worst ? wrong : worst;
		/* Far from the bend there is nothing to be in doubt about. */
		if (steps < 8 * poll || steps > 13 * poll)
			assert_in_range(off, 0, 30);
	}
	assert_true(worst > 1000);
}

static void a_clock_that_jumps_back_begins_a_new_line(void **state)
{
	struct clock_line line = { 0 };
	uint64_t ns, off;

	(void)state;
	for (uint64_t i = 1; i < 100; i++)
		clock_line_add(&line, (struct clock_point){ i * 2000 * MS, i * 1000 * MS, 10 });
	assert_int_equal(line.n, CLOCK_LINE);
	clock_line_add(&line, (struct clock_point){ 5, 3, 10 });
	assert_false(clock_line_at(&line, 5, &ns, &off));
	clock_line_add(&line, (struct clock_point){ 5 + 40 * MS, 3 + 20 * MS, 10 });
	assert_true(clock_line_at(&line, 5 + 20 * MS, &ns, &off));
	assert_int_equal(ns, 3 + 10 * MS);
}

static void points_that_are_too_near_are_not_led_on_from(void **state)
{
	struct clock_line line = { 0 };

	(void)state;
	clock_line_add(&line, (struct clock_point){ 0, 0, 40 });
	clock_line_add(&line, (struct clock_point){ 2000, 1060, 40 }); /* 6 % wrong */
	clock_line_add(&line, (struct clock_point){ 400 * MS, 200 * MS, 40 });
	assert_int_equal(line.n, 2);
	clock_line_add(&line, (struct clock_point){ 400 * MS + 2000, 200 * MS + 1000, 40 });
	assert_int_equal(line.n, 3);
	clock_line_add(&line, (struct clock_point){ 800 * MS, 400 * MS, 40 });
	assert_int_equal(line.n, 3);
}

static void the_ring_keeps_what_it_has_room_for_and_counts_the_rest(void **state)
{
	static struct gap_ring ring;
	struct gap_reader reader = { 0 };
	struct tick_gap g;
	uint64_t n = 0;

	(void)state;
	for (uint64_t i = 0; i < GAP_RING + 3; i++)
		gap_ring_put(&ring, &(struct tick_gap){ .start = i });
	assert_int_equal(ring.lost, 3);
	for (; gap_ring_peek(&ring, &reader, &g); n++) {
		assert_int_equal(g.start, n);
		gap_ring_take(&ring, &reader);
	}
	assert_int_equal(n, GAP_RING);
	gap_ring_put(&ring, &(struct tick_gap){ .start = 7 });
	assert_true(gap_ring_peek(&ring, &reader, &g));
	assert_int_equal(g.start, 7);
}

static void look(struct gap_watch *gw, struct gap_feed *feed)
{
	gap_watch_point(gw);
	gap_watch_events(gw);
	gap_watch_feed(gw, feed);
	gap_watch_join(gw);
}

static void last_look(struct gap_watch *gw, struct gap_feed *feed)
{
	gap_watch_point(gw);
	gap_watch_last_events(gw, monotonic_ns());
	gap_watch_feed(gw, feed);
	gap_watch_finish(gw);
}

static void a_ring_full_of_nonsense_is_passed_over(void **state)
{
	static const struct tree_file files[] = { { "sys/devices/system/cpu/online", "0-1" },
		                                  { NULL, NULL } };
	_cleanup_tree_ struct tree *tree = tree_open(files);
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	static struct gap_ring ring = { .threshold = 1000, .loop = UINT64_MAX };
	struct gap_feed feed = { .ring = &ring };
	struct trace_watch watch = { .sys = &tree->sys };
	struct gap_watch gw;

	(void)state;
	cpumask_set(&cpus, 1);
	gap_watch_open(&gw, &watch, &cpus, 4);
	for (int i = 0; i < 3; i++)
		look(&gw, &feed);
	for (uint64_t i = 0; i < GAP_RING; i++)
		ring.gaps[i] = (struct tick_gap){ .length = i % 2 ? UINT64_MAX : 5000,
			                          .start = UINT64_MAX - i,
			                          .cpu = i % 3 ? 1 : UINT32_MAX,
			                          .what = i % 5 ? 2 : 77 };
	ring.head = GAP_RING;
	look(&gw, &feed);
	ring.head = UINT64_MAX / 2;
	ring.tail = 12345;
	look(&gw, &feed);
	last_look(&gw, &feed);
	assert_int_equal(gw.join.cpus[0].all.n, 0);
	/* Those on the CPU that is watched, and what was overwritten. */
	assert_int_equal(feed.lost, GAP_RING - (GAP_RING + 2) / 3 + 1);
	gap_watch_free(&gw);
	trace_watch_free(&watch);
}

/* Who claims that all its gaps are at the same time would have each joined with all events. */
static void gaps_of_one_thread_follow_each_other_and_their_time_is_known(void **state)
{
	static const struct tree_file files[] = { { "sys/devices/system/cpu/online", "0-1" },
		                                  { NULL, NULL } };
	_cleanup_tree_ struct tree *tree = tree_open(files);
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	static struct gap_ring ring = { .threshold = 1, .loop = 1 };
	struct gap_feed feed = { .ring = &ring, .begin = clock_now() };
	struct trace_watch watch = { .sys = &tree->sys };
	struct tick_gap g = { .length = 1000, .cpu = 1, .what = ISOLPROBE_INTERRUPT };
	struct gap_watch gw;

	(void)state;
	cpumask_set(&cpus, 1);
	gap_watch_open(&gw, &watch, &cpus, 4);
	for (int i = 0; i < 3; i++) {
		look(&gw, &feed);
		usleep(11000);
	}
	g.start = isolprobe_counter();
	gap_ring_put(&ring, &g);
	g.start += 500;
	gap_ring_put(&ring, &g);
	g.start += 501;
	gap_ring_put(&ring, &g);
	usleep(11000);
	look(&gw, &feed);
	assert_int_equal(gw.join.cpus[0].n_gaps, 2);
	assert_int_equal(feed.lost, 1);
	feed.off = JOIN_OFF_NS + 1;
	g.start += 2000;
	gap_ring_put(&ring, &g);
	last_look(&gw, &feed);
	assert_int_equal(gw.join.cpus[0].all.n, 2);
	assert_int_equal(feed.lost, 2);
	gap_watch_free(&gw);
	trace_watch_free(&watch);
}

static void gaps_of_the_counter_come_at_the_time_that_they_were(void **state)
{
	static const struct tree_file files[] = { { "sys/devices/system/cpu/online", "0-1" },
		                                  { "proc/cpuinfo",
		                                    "flags\t\t: fpu hypervisor lahf_lm\n" },
		                                  { NULL, NULL } };
	_cleanup_tree_ struct tree *tree = tree_open(files);
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	static struct gap_ring ring = { .loop = 1 };
	struct gap_feed feed = { .ring = &ring, .begin = clock_now() };
	struct trace_watch watch = { .sys = &tree->sys };
	struct clock_point before, after;
	const struct join_gap *found;
	struct gap_watch gw;

	(void)state;
	cpumask_set(&cpus, 1);
	gap_watch_open(&gw, &watch, &cpus, 4);
	look(&gw, &feed);
	usleep(20000);
	before = clock_now();
	usleep(20000);
	after = clock_now();
	gap_ring_put(&ring, &(struct tick_gap){ .start = before.steps,
	                                        .length = after.steps - before.steps - 1,
	                                        .cpu = 1,
	                                        .what = ISOLPROBE_INTERRUPT });
	/* Until there is a threshold nothing is taken. */
	look(&gw, &feed);
	assert_int_equal(gw.join.cpus[0].n_gaps, 0);
	ring.threshold = 100;
	last_look(&gw, &feed);
	found = join_find(&gw.join.cpus[0], before.steps);
	assert_non_null(found);
	assert_in_range(found->start, before.ns - 100 - found->off, before.ns + 100 + found->off);
	assert_in_range(found->end, after.ns - 100 - found->off, after.ns + 100 + found->off);
	assert_string_equal(found->outside->code, "hypervisor");
	gap_watch_free(&gw);
	trace_watch_free(&watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gap_is_longer_than_the_break_in_it),
		cmocka_unit_test(of_two_breaks_in_a_gap_the_longer_one_is_its_cause),
		cmocka_unit_test(of_one_break_over_two_gaps_each_has_its_own_part),
		cmocka_unit_test(a_part_that_was_not_seen_in_full_counts_as_far_as_the_gap_goes),
		cmocka_unit_test(a_turn_of_which_no_end_was_seen_ended_before_the_loop_ran),
		cmocka_unit_test(what_a_break_is_charged_to_is_the_cause_of_its_gap),
		cmocka_unit_test(a_break_that_must_have_made_a_gap_and_did_not_is_told),
		cmocka_unit_test(breaks_before_the_loop_and_after_it_need_no_gap),
		cmocka_unit_test(an_interrupt_that_only_came_first_is_not_the_cause_of_a_long_gap),
		cmocka_unit_test(a_thread_that_was_moved_is_away_until_it_is_back),
		cmocka_unit_test(without_an_event_the_class_and_the_signs_decide),
		cmocka_unit_test(of_several_loops_on_a_cpu_one_has_the_others_gap),
		cmocka_unit_test(a_thread_that_was_moved_has_its_gap_where_it_goes_on),
		cmocka_unit_test(a_gap_of_all_cpus_at_once_is_the_firmwares),
		cmocka_unit_test(a_virtual_machine_that_stood_still_is_the_hypervisors),
		cmocka_unit_test(while_events_were_lost_nothing_is_blamed_on_others),
		cmocka_unit_test(gaps_and_breaks_may_come_in_any_order_before_they_are_settled),
		cmocka_unit_test(a_gap_waits_for_a_break_that_has_not_ended_but_not_for_ever),
		cmocka_unit_test(the_memory_for_what_is_not_joined_yet_is_bounded),
		cmocka_unit_test(gaps_of_several_threads_on_a_cpu_are_put_in_order),
		cmocka_unit_test(unknown_cpus_are_nobodys),
		cmocka_unit_test(times_are_right_within_what_is_said_while_the_clock_is_slewed),
		cmocka_unit_test(a_clock_that_jumps_back_begins_a_new_line),
		cmocka_unit_test(points_that_are_too_near_are_not_led_on_from),
		cmocka_unit_test(the_ring_keeps_what_it_has_room_for_and_counts_the_rest),
		cmocka_unit_test(a_ring_full_of_nonsense_is_passed_over),
		cmocka_unit_test(gaps_of_one_thread_follow_each_other_and_their_time_is_known),
		cmocka_unit_test(gaps_of_the_counter_come_at_the_time_that_they_were),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
