/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was counted, and what it is called under which limits. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tree.h"

#include "../../isolcore/profile.h"
#include "../../probe/verdict.h"

#define BEGAN  1000000000u
#define WINDOW 1000000000u /* ns: a part per million is 1 us */

static const struct tree_file machine[] = {
	{ "sys/devices/system/cpu/online", "0-2" },
	{ NULL, NULL },
};

struct world {
	struct tree *tree;
	struct request req;
	struct trace_watch tw;
};

/* CPUs 1 and 2 are watched; events come from the tests alone. */
static int setup(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;

	w->tree = tree_open(machine);
	cpumask_free(&w->tree->sys.machine.online);
	cpumask_set(&cpus, 1);
	cpumask_set(&cpus, 2);
	request_init(&w->req);
	/* Opens nothing, as no CPU is online, and may say why. */
	trace_watch_open(&w->tw, &w->tree->sys, &cpus, NULL, 4096, NULL);
	trace_watch_start(&w->tw, 100, BEGAN);
	w->tw.cpus[0].used = w->tw.cpus[1].used = true;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	trace_watch_free(&w->tw);
	request_free(&w->req);
	tree_close(w->tree);
	free(w);
	return 0;
}

static void limit(struct world *w, const char *assignment)
{
	_cleanup_error_ struct error err = ERROR_INIT;

	if (profile_set(&w->req, assignment, &err))
		fail_msg("%s", err.text);
}

/* A break of some us on CPU 1, which began after some us. */
static void add_break(struct world *w, bool self, uint64_t start_us, uint64_t length_us)
{
	struct part part = { .source = TRACE_TIMER, .cause = &causes[0], .self = self };
	struct isolation_break brk = { .cpu = 1,
		                       .start = BEGAN + start_us * 1000,
		                       .end = BEGAN + (start_us + length_us) * 1000,
		                       .by = &part,
		                       .parts = &part,
		                       .n_parts = 1 };

	w->tw.env.on_break(&w->tw, &brk);
}

static void expect(struct world *w, const char *told)
{
	_cleanup_verdict_ struct verdict verdict;
	_cleanup_free_ char *is = NULL;

	trace_watch_finish(&w->tw, BEGAN + WINDOW);
	verdict_of_cpu(&verdict, &w->tw.cpus[0], &w->tw, &w->req);
	xappend(&is, "%s", verdict_name(verdict.state));
	for (size_t i = 0; i < verdict.reasons.n; i++)
		xappend(&is, "; %s", verdict.reasons.names[i]);
	assert_string_equal(is, told);
}

static void expect_all(struct world *w, enum verdict_state state)
{
	trace_watch_finish(&w->tw, BEGAN + WINDOW);
	assert_int_equal(verdict_of_all(&w->tw, &w->req), state);
}

static void nothing_that_happened_is_kept(void **state)
{
	expect(*state, "kept");
	expect_all(*state, VERDICT_KEPT);
}

static void without_limits_one_break_is_too_many(void **state)
{
	add_break(*state, false, 100, 1);
	expect(*state, "broken; 1 breaks, 0 allowed");
	expect_all(*state, VERDICT_BROKEN);
}

static void as_many_breaks_as_allowed_are_kept(void **state)
{
	struct world *w = *state;

	limit(w, "verdict.max_breaks=2");
	add_break(w, false, 100, 1000);
	add_break(w, false, 2000, 1000);
	expect(w, "kept");
	add_break(w, false, 4000, 1);
	expect(w, "broken; 3 breaks, 2 allowed");
}

static void the_longest_break_may_be_as_long_as_allowed(void **state)
{
	struct world *w = *state;

	limit(w, "verdict.max_gap=20");
	add_break(w, false, 100, 20);
	add_break(w, false, 200, 20);
	expect(w, "kept");
	add_break(w, false, 300, 21);
	expect(w, "broken; a break of 21.0 us, 20 us allowed");
}

static void the_time_lost_may_be_as_much_as_allowed(void **state)
{
	struct world *w = *state;

	limit(w, "verdict.budget_ppm=30");
	add_break(w, false, 100, 30);
	expect(w, "kept");
	add_break(w, false, 200, 1);
	expect(w, "broken; 31.0 ppm of the time lost, 30 ppm allowed");
}

static void each_limit_that_is_passed_is_told(void **state)
{
	struct world *w = *state;

	limit(w, "verdict.max_gap=0");
	limit(w, "verdict.budget_ppm=0");
	limit(w, "verdict.max_breaks=0");
	add_break(w, false, 100, 1);
	expect(w, "broken; 1 breaks, 0 allowed; a break of 1.0 us, 0 us allowed; "
	          "1.0 ppm of the time lost, 0 ppm allowed");
}

static void own_doing_is_ignored_unless_it_is_to_count(void **state)
{
	struct world *w = *state;

	add_break(w, true, 100, 1);
	expect(w, "kept");
	limit(w, "verdict.ignore=none");
	expect(w, "broken; 1 breaks, 0 allowed");
	limit(w, "verdict.ignore=self");
	expect(w, "kept");
}

static void what_counts_is_the_longest_of_both(void **state)
{
	struct world *w = *state;

	limit(w, "verdict.ignore=none");
	limit(w, "verdict.max_gap=5");
	add_break(w, true, 100, 9);
	add_break(w, false, 200, 7);
	expect(w, "broken; a break of 9.0 us, 5 us allowed");
}

static void the_grace_at_the_start_does_not_count(void **state)
{
	struct world *w = *state;

	w->tw.grace = WINDOW / 2;
	limit(w, "verdict.budget_ppm=10");
	add_break(w, false, 100, 100000);
	add_break(w, false, 499999, 10);
	expect(w, "kept");
	assert_int_equal(w->tw.cpus[0].startup.n, 2);
	/* what is left is half as long, and the budget as well */
	add_break(w, false, 500000, 6);
	expect(w, "broken; 12.0 ppm of the time lost, 10 ppm allowed");
}

static void the_end_of_a_thread_does_not_count(void **state)
{
	struct world *w = *state;
	struct part part = { .source = TRACE_TIMER, .cause = &causes[0] };
	const struct isolation_break brk = { .cpu = 1,
		                             .start = BEGAN + 100,
		                             .end = BEGAN + 200,
		                             .by = &part,
		                             .parts = &part,
		                             .n_parts = 1,
		                             .ending = true };

	w->tw.env.on_break(&w->tw, &brk);
	expect(w, "kept");
	assert_int_equal(w->tw.cpus[0].ending.n, 1);
	assert_int_equal(w->tw.n_worst, 0);
}

static void a_run_that_ends_within_the_grace_lost_nothing(void **state)
{
	struct world *w = *state;

	w->tw.grace = 2ull * WINDOW;
	limit(w, "verdict.budget_ppm=0");
	add_break(w, false, 100, 100000);
	expect(w, "kept");
}

static void a_loop_that_was_blind_for_too_long_is_inconclusive(void **state)
{
	struct world *w = *state;

	limit(w, "verdict.min_coverage=95");
	w->tw.cpus[0].loop_blind = 0.05;
	expect(w, "kept");
	w->tw.cpus[0].loop_blind = 0.0625;
	expect(w, "inconclusive; its loop was watched for 93.75 % of its time, 95 % wanted");
}

static void what_was_before_the_start_is_not_the_commands(void **state)
{
	struct world *w = *state;
	struct part part = { .source = TRACE_TIMER, .cause = &causes[0] };
	struct isolation_break brk = { .cpu = 1,
		                       .start = BEGAN - 1,
		                       .end = BEGAN + 100,
		                       .by = &part,
		                       .parts = &part,
		                       .n_parts = 1 };

	w->tw.env.on_break(&w->tw, &brk);
	w->tw.env.on_unseen(&w->tw, 1, BEGAN - 100, BEGAN);
	expect(w, "kept");
}

static void lost_records_leave_it_open(void **state)
{
	struct world *w = *state;

	w->tw.cpus[0].lost = 3;
	expect(w, "inconclusive; 3 or more trace events were lost: raise probe.ring");
	expect_all(w, VERDICT_INCONCLUSIVE);
	/* but a break that was seen was one */
	add_break(w, false, 100, 1);
	expect(w, "broken; 1 breaks, 0 allowed; 3 or more trace events were lost: raise "
	          "probe.ring");
}

static void records_lost_on_other_cpus_leave_open_whose_doing_it_was(void **state)
{
	struct world *w = *state;

	w->tw.events.lost_elsewhere = 2;
	expect(w, "inconclusive; 2 or more trace events of other CPUs were lost: whose doing a "
	          "break was is not certain");
}

static void what_the_kernel_did_not_tell_leaves_it_open(void **state)
{
	struct world *w = *state;

	w->tw.env.on_unseen(&w->tw, 1, BEGAN - 100, BEGAN + 1000);
	w->tw.env.on_unseen(&w->tw, 1, BEGAN + 5000, BEGAN + 7500);
	expect(w, "inconclusive; the kernel told nothing of 2 stretches of time in which a task "
	          "ran, 3.5 us together");
}

static void a_cpu_that_goes_offline_leaves_it_open(void **state)
{
	struct world *w = *state;

	tree_put(w->tree, "/sys/devices/system/cpu/online", "0,2\n");
	expect(w, "inconclusive; the CPU went offline");
	/* also if it comes back */
	tree_put(w->tree, "/sys/devices/system/cpu/online", "0-2\n");
	expect(w, "inconclusive; the CPU went offline");
	assert_false(w->tw.cpus[1].went_offline);
}

static void a_clock_that_goes_back_leaves_it_open(void **state)
{
	struct world *w = *state;

	w->tw.events.clock_steps = 1;
	expect(w, "inconclusive; the clock of the trace events went back 1 times");
}

static void a_cpu_on_which_the_command_never_ran_is_unused(void **state)
{
	struct world *w = *state;

	w->tw.cpus[0].used = false;
	expect(w, "unused; no thread of the command ran on it");
	expect_all(w, VERDICT_KEPT); /* the other one is */
	w->tw.cpus[1].used = false;
	expect_all(w, VERDICT_INCONCLUSIVE);
	/* what is not known in full is not called unused */
	w->tw.cpus[0].lost = 1;
	expect(w, "inconclusive; 1 or more trace events were lost: raise probe.ring");
}

static void the_worst_of_all_cpus_is_the_verdict(void **state)
{
	struct world *w = *state;

	w->tw.cpus[1].lost = 1;
	expect_all(w, VERDICT_INCONCLUSIVE);
	add_break(w, false, 100, 1);
	expect_all(w, VERDICT_BROKEN);
}

static void the_ten_longest_foreign_breaks_are_kept(void **state)
{
	struct world *w = *state;

	for (unsigned int i = 0; i < 30; i++) {
		add_break(w, false, 1000ull * i, 1 + i * 7 % 30);
		add_break(w, true, 1000ull * i + 500, 100);
	}
	assert_int_equal(w->tw.n_worst, WATCH_WORST);
	for (unsigned int i = 0; i < WATCH_WORST; i++)
		assert_int_equal(w->tw.worst[i].end - w->tw.worst[i].start, (30 - i) * 1000);
	assert_int_equal(w->tw.cpus[0].causes[0].breaks, 60);
	assert_int_equal(w->tw.cpus[0].causes[0].longest, 100000);
	assert_int_equal(w->tw.cpus[0].causes[0].first, BEGAN);
	assert_int_equal(w->tw.cpus[0].causes[0].last, BEGAN + 29500000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(nothing_that_happened_is_kept),
		TEST(without_limits_one_break_is_too_many),
		TEST(as_many_breaks_as_allowed_are_kept),
		TEST(the_longest_break_may_be_as_long_as_allowed),
		TEST(the_time_lost_may_be_as_much_as_allowed),
		TEST(each_limit_that_is_passed_is_told),
		TEST(own_doing_is_ignored_unless_it_is_to_count),
		TEST(what_counts_is_the_longest_of_both),
		TEST(the_grace_at_the_start_does_not_count),
		TEST(the_end_of_a_thread_does_not_count),
		TEST(a_run_that_ends_within_the_grace_lost_nothing),
		TEST(a_loop_that_was_blind_for_too_long_is_inconclusive),
		TEST(what_was_before_the_start_is_not_the_commands),
		TEST(lost_records_leave_it_open),
		TEST(records_lost_on_other_cpus_leave_open_whose_doing_it_was),
		TEST(what_the_kernel_did_not_tell_leaves_it_open),
		TEST(a_cpu_that_goes_offline_leaves_it_open),
		TEST(a_clock_that_goes_back_leaves_it_open),
		TEST(a_cpu_on_which_the_command_never_ran_is_unused),
		TEST(the_worst_of_all_cpus_is_the_verdict),
		TEST(the_ten_longest_foreign_breaks_are_kept),
	};

	return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
