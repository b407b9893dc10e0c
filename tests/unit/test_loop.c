/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a command may leave in the record about its loops, and what is made of it. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../probe/figures.h"
#include "../../probe/loop_watch.h"
#include "../../probe/tick_slot.h"
#include "../../probe/verdict.h"
#include "../../isolcore/profile.h"
#include "tree.h"

#define MS 1000000u

static const struct tree_file files[] = {
	{ "sys/devices/system/cpu/online", "0-1" },
	{ "proc/812/stat", "812 (spinner) R 1 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 77 0 0" },
	{ NULL, NULL }
};

struct world {
	struct tree *tree;
	struct record_keep keep;
	struct trace_watch watch;
	struct loop_watch loops;
};

static int open_world(void **state)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	struct world *w = xcalloc(1, sizeof(*w));

	w->tree = tree_open(files);
	w->keep = (struct record_keep)RECORD_KEEP_INIT;
	assert_int_equal(record_make(&w->keep, NULL), 0);
	w->watch = (struct trace_watch){ .sys = &w->tree->sys };
	w->watch.cpus = xcalloc(1, sizeof(*w->watch.cpus));
	w->watch.cpus[0].cpu = 1;
	w->watch.cpus[0].used = true;
	w->watch.cpus[0].causes = xcalloc(n_causes, sizeof(*w->watch.cpus[0].causes));
	w->watch.n_cpus = 1;
	cpumask_set(&cpus, 1);
	loop_watch_open(&w->loops, &w->tree->sys, &w->keep, &w->watch, &cpus, 4);
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	loop_watch_free(&w->loops);
	trace_watch_free(&w->watch);
	record_drop(&w->keep);
	tree_closep(&w->tree);
	free(w);
	return 0;
}

static struct tick_slot *slot(const struct world *w, unsigned int i)
{
	return (struct tick_slot *)(void *)((char *)w->keep.record + TICK_SLOTS_AT +
	                                    i * TICK_SLOT_SIZE);
}

/* A thread begins in a slot, with a counter of 1 GHz. */
static struct tick_slot *begin(const struct world *w, unsigned int i)
{
	struct record_tick *t = &w->keep.record->ticks[i];
	struct tick_slot *s = slot(w, i);

	memset(s, 0, sizeof(*s));
	t->round++;
	t->tid = 812;
	s->record = (struct tick_record){ .scale = { 1, 0 },
		                          .begin_point = clock_now(),
		                          .stage = TICK_MEASURES,
		                          .threshold = 1000,
		                          .limit = 500,
		                          .loop = 10,
		                          .cpu = 1,
		                          .end_cpu = 1 };
	s->record.begin = s->record.begin_point.steps;
	s->ring.loop = 10;
	s->ring.threshold = 1000;
	t->state = RECORD_TICK_RUNS;
	return s;
}

static void gap_of(struct tick_slot *s, uint64_t length, enum isolprobe_class what)
{
	struct tick_gap g = { length, isolprobe_counter() - length - 10, 1, what };

	gap_ring_put(&s->ring, &g);
	s->record.breaks[g.what].n++;
	s->record.breaks[g.what].length += length;
	histogram_add(&s->record.by_class[g.what], length);
}

static void gap(struct tick_slot *s, uint64_t length)
{
	gap_of(s, length, ISOLPROBE_INTERRUPT);
}

static void end(const struct world *w, unsigned int i)
{
	struct tick_slot *s = slot(w, i);

	s->record.end = isolprobe_counter();
	s->record.ticks = 1000000;
	w->keep.record->ticks[i].state = RECORD_TICK_LEFT;
}

static void a_loop_that_began_and_ended_is_told_with_its_gaps(void **state)
{
	struct world *w = *state;
	struct tick_slot *s;
	struct figures f;

	loop_watch_read(&w->loops);
	assert_int_equal(w->loops.n_loops, 0);
	usleep(20000);
	s = begin(w, 0);
	usleep(20000);
	gap(s, 5000);
	loop_watch_read(&w->loops);
	gap(s, 7000);
	end(w, 0);
	loop_watch_finish(&w->loops, monotonic_ns());
	assert_int_equal(w->loops.n_loops, 1);
	assert_true(w->loops.loops[0].ended);
	assert_string_equal(w->loops.loops[0].name, "spinner");
	assert_int_equal(w->loops.gaps.join.cpus[0].all.n, 2);
	assert_int_equal(w->loops.gaps.join.cpus[0].lost, 0);
	figures_make(&f, w->loops.loops[0].record, 1);
	assert_int_equal(f.n, 2);
	assert_int_equal(f.total_ns, 12000);
	assert_int_equal(f.loops, 1000000);
	/* From its begin on breaks count. */
	assert_in_range(w->watch.began + w->watch.grace, s->record.begin_point.ns - MS,
	                s->record.begin_point.ns + MS);
}

static void a_loop_that_was_killed_is_told_as_far_as_it_came(void **state)
{
	struct world *w = *state;
	struct tick_slot *s = begin(w, 3);

	usleep(15000);
	loop_watch_read(&w->loops);
	usleep(15000);
	gap(s, 5000);
	loop_watch_finish(&w->loops, monotonic_ns());
	assert_int_equal(w->loops.n_loops, 1);
	assert_false(w->loops.loops[0].ended);
	assert_non_null(w->loops.loops[0].record);
	assert_true(w->loops.loops[0].record->end > w->loops.loops[0].record->begin);
	assert_int_equal(w->loops.gaps.join.cpus[0].all.n, 1);
}

static enum verdict_state verdict(const struct world *w, const char *set)
{
	_cleanup_request_ struct request req;

	request_init(&req);
	if (set)
		assert_int_equal(profile_set(&req, set, NULL), 0);
	return verdict_of_all(&w->watch, &req);
}

static void a_gap_that_is_too_long_breaks_the_verdict_whoever_took_the_time(void **state)
{
	struct world *w = *state;
	struct tick_slot *s = begin(w, 0);

	usleep(11000);
	gap(s, isolprobe_counter() - s->record.begin);
	end(w, 0);
	loop_watch_finish(&w->loops, monotonic_ns());
	assert_string_equal(w->loops.gaps.join.cpus[0].first->outside->code, "hardware");
	assert_int_equal(verdict(w, NULL), VERDICT_KEPT);
	assert_int_equal(verdict(w, "verdict.max_gap=5000"), VERDICT_BROKEN);
	assert_int_equal(verdict(w, "verdict.max_gap=10000000"), VERDICT_KEPT);
}

static void a_gap_of_the_kernels_that_no_event_tells_of_leaves_nothing_kept(void **state)
{
	struct world *w = *state;
	struct tick_slot *s = begin(w, 0);

	usleep(11000);
	gap_of(s, 5000, ISOLPROBE_SWITCHED);
	end(w, 0);
	loop_watch_finish(&w->loops, monotonic_ns());
	assert_int_equal(verdict(w, NULL), VERDICT_INCONCLUSIVE);
}

static void a_slot_is_free_again_when_it_has_been_read(void **state)
{
	struct world *w = *state;

	for (int round = 1; round <= 3; round++) {
		gap(begin(w, 7), 5000);
		usleep(11000);
		end(w, 7);
		loop_watch_read(&w->loops);
		assert_int_equal(w->loops.n_loops, round);
		assert_int_equal(w->keep.record->ticks[7].collected, round);
	}
	loop_watch_finish(&w->loops, monotonic_ns());
	assert_int_equal(w->loops.gaps.join.cpus[0].all.n, 3);
}

static void a_slot_is_free_again_when_its_thread_is_gone(void **state)
{
	struct world *w = *state;

	usleep(11000);
	begin(w, 7);
	loop_watch_read(&w->loops);
	assert_int_equal(w->keep.record->ticks[7].state, RECORD_TICK_RUNS);
	/* Its number is another's now. */
	tree_put(w->tree, "/proc/812/stat",
	         "812 (other) R 1 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 78 0 0");
	usleep(11000);
	loop_watch_read(&w->loops);
	assert_int_equal(w->keep.record->ticks[7].state, RECORD_TICK_LEFT);
	assert_int_equal(w->keep.record->ticks[7].collected, 1);
	assert_false(w->loops.loops[0].ended);
	assert_non_null(w->loops.loops[0].record);
}

static void what_cannot_be_calculated_with_is_not_taken(void **state)
{
	static const struct clock_scale scales[] = { { 0, 0 }, { 1, 64 }, { 1, 4000000000u } };
	struct world *w = *state;

	for (unsigned int i = 0; i < ARRAY_SIZE(scales); i++) {
		begin(w, i)->record.scale = scales[i];
		end(w, i);
	}
	begin(w, 5)->record.stage = (enum tick_stage)77;
	loop_watch_finish(&w->loops, monotonic_ns());
	assert_int_equal(w->loops.n_loops, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_true(w->loops.loops[i].collected);
		assert_null(w->loops.loops[i].record);
	}
}

static void nothing_that_the_command_writes_does_harm(void **state)
{
	struct world *w = *state;
	uint64_t seed = 1;

	for (int round = 0; round < 40; round++) {
		for (unsigned int i = 0; i < 4; i++) {
			uint64_t *words = (uint64_t *)(void *)slot(w, i);

			for (size_t k = 0; k < sizeof(struct tick_slot) / 8; k++) {
				seed = seed * 6364136223846793005u + 1442695040888963407u;
				words[k] = round % 2 ? seed : seed >> 40;
			}
			slot(w, i)->record.scale = (struct clock_scale){ seed | 1, round % 64 };
			slot(w, i)->record.stage = TICK_MEASURES;
			w->keep.record->ticks[i] =
				(struct record_tick){ (uint32_t)(seed >> 61), (uint32_t)seed,
				                      (uint32_t)(seed >> 20), (uint32_t)seed };
		}
		loop_watch_read(&w->loops);
	}
	loop_watch_finish(&w->loops, monotonic_ns());
	for (size_t i = 0; i < w->loops.n_loops; i++) {
		struct figures f;

		if (w->loops.loops[i].record)
			figures_make(&f, w->loops.loops[i].record, 1);
	}
	assert_true(w->loops.n_loops > 4);
}

static void a_program_that_begins_without_end_fills_no_memory(void **state)
{
	struct world *w = *state;

	for (unsigned int i = 0; i < 2 * LOOPS_MAX; i++) {
		w->keep.record->ticks[0].state = RECORD_TICK_LEFT;
		w->keep.record->ticks[0].round++;
		loop_watch_read(&w->loops);
	}
	assert_int_equal(w->loops.n_loops, LOOPS_MAX);
	assert_int_equal(w->loops.omitted, LOOPS_MAX);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
	const struct CMUnitTest tests[] = {
		TEST(a_loop_that_began_and_ended_is_told_with_its_gaps),
		TEST(a_loop_that_was_killed_is_told_as_far_as_it_came),
		TEST(a_gap_that_is_too_long_breaks_the_verdict_whoever_took_the_time),
		TEST(a_gap_of_the_kernels_that_no_event_tells_of_leaves_nothing_kept),
		TEST(a_slot_is_free_again_when_it_has_been_read),
		TEST(a_slot_is_free_again_when_its_thread_is_gone),
		TEST(what_cannot_be_calculated_with_is_not_taken),
		TEST(nothing_that_the_command_writes_does_harm),
		TEST(a_program_that_begins_without_end_fills_no_memory),
	};

	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
