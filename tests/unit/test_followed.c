/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../isolcore/profile.h"
#include "../../probe/followed.h"

struct pieces {
	struct record_keep keep;
	struct record_thread own[RECORD_THREADS];
	struct record_folded own_folded;
	struct followed followed;
	struct request req;
	struct cpumask workload;
	unsigned long long counts[4][2];
	struct interrupt_row rows[4];
	struct interrupt_table interrupts;
};

static int setup(void **state)
{
	struct pieces *p = xcalloc(1, sizeof(*p));

	p->keep = (struct record_keep)RECORD_KEEP_INIT;
	request_init(&p->req);
	cpumask_set_range(&p->workload, 1, 2);
	p->rows[0] = (struct interrupt_row){ INTERRUPT_ARCH, "LOC", "Local timer", p->counts[0] };
	p->rows[1] = (struct interrupt_row){ INTERRUPT_ARCH, "TLB", "TLB", p->counts[1] };
	p->rows[2] = (struct interrupt_row){ INTERRUPT_SOFTIRQ, "TIMER", "", p->counts[2] };
	p->rows[3] = (struct interrupt_row){ INTERRUPT_DEVICE, "24", "disk", p->counts[3] };
	p->interrupts = (struct interrupt_table){ .rows = p->rows, .n_rows = 4 };
	cpumask_copy(&p->interrupts.cpus, &p->workload);
	*state = p;
	return record_make(&p->keep, NULL);
}

static int teardown(void **state)
{
	struct pieces *p = *state;

	record_drop(&p->keep);
	followed_free(&p->followed);
	request_free(&p->req);
	cpumask_free(&p->workload);
	cpumask_free(&p->interrupts.cpus);
	free(p);
	return 0;
}

static struct record_thread thread(uint32_t tid, uint32_t cpu, uint64_t involuntary)
{
	return (struct record_thread){ .tid = tid,
		                       .flags = RECORD_HOT,
		                       .cpu = cpu,
		                       .hot_cpu = cpu,
		                       .start = 1,
		                       .n_looks = 1,
		                       .last_ns = 10,
		                       .now = { .involuntary = involuntary, .minor = 1 } };
}

static void join(struct pieces *p)
{
	p->followed.window_ns = 1000000000;
	p->followed.n_looks = 1;
	followed_join(&p->followed, &p->keep, p->own, &p->own_folded);
	followed_count_cpus(&p->followed, &p->workload, &p->interrupts);
}

static enum verdict_state verdict(struct pieces *p, const char *set)
{
	if (set)
		assert_int_equal(profile_set(&p->req, set, NULL), 0);
	return followed_verdict(&p->followed, &p->req);
}

static void test_what_both_sides_saw_of_a_thread_is_joined(void **state)
{
	struct pieces *p = *state;

	p->own[3] = thread(7, 1, 5);
	p->own[3].base.involuntary = 2;
	p->own[4] = thread(8, 1, 9);
	p->keep.record->threads[0] = thread(7, 2, 4);
	p->keep.record->threads[0].base.involuntary = 3;
	p->keep.record->threads[0].last_ns = 20;
	/* Another one with the same number, and the library's own. */
	p->keep.record->threads[1] = thread(8, 1, 1);
	p->keep.record->threads[1].start = 2;
	p->keep.record->threads[2] = thread(9, 1, 100);
	p->keep.record->library.follower_tid = 9;
	join(p);
	assert_int_equal(p->followed.n_threads, 3);
	assert_int_equal(p->followed.threads[0].now.involuntary, 9);
	assert_int_equal(p->followed.threads[1].tid, 7);
	assert_int_equal(p->followed.threads[1].now.involuntary, 3);
	assert_int_equal(p->followed.threads[1].hot_cpu, 2);
	assert_int_equal(p->followed.cpus[0].counts.involuntary, 10);
	assert_int_equal(p->followed.cpus[1].counts.involuntary, 3);
}

static void test_what_either_side_saw_within_the_grace_does_not_count(void **state)
{
	struct pieces *p = *state;

	p->followed.count_from = 25;
	p->own[0] = thread(7, 1, 3);
	p->own[0].base = p->own[0].now;
	p->keep.record->threads[0] = thread(7, 1, 1);
	p->keep.record->threads[0].base = p->keep.record->threads[0].now;
	/* The library came to this one after the grace. */
	p->own[1] = thread(8, 2, 5);
	p->own[1].base.involuntary = 2;
	p->keep.record->threads[1] = thread(8, 2, 6);
	p->keep.record->threads[1].first_ns = 30;
	p->keep.record->threads[1].base.involuntary = 4;
	join(p);
	assert_int_equal(p->followed.cpus[0].counts.involuntary, 0);
	assert_int_equal(p->followed.cpus[0].counts.minor, 0);
	assert_int_equal(p->followed.cpus[1].counts.involuntary, 4);
}

static void test_a_place_that_nobody_looked_at_does_not_take_the_base_away(void **state)
{
	struct pieces *p = *state;

	p->own[0] = thread(7, 1, 50);
	p->own[0].base.involuntary = 49;
	p->keep.record->threads[0] = (struct record_thread){ .tid = 7, .first_ns = 1 };
	join(p);
	assert_int_equal(p->followed.threads[0].now.involuntary, 1);
}

static void test_nothing_that_happened_is_kept_and_nothing_that_ran_is_unused(void **state)
{
	struct pieces *p = *state;
	_cleanup_verdict_ struct verdict unused;

	p->own[0] = thread(7, 1, 0);
	join(p);
	assert_int_equal(verdict(p, NULL), VERDICT_KEPT);
	followed_verdict_of_cpu(&unused, &p->followed.cpus[1], &p->followed, &p->req);
	assert_int_equal(unused.state, VERDICT_UNUSED);
}

static void test_interrupts_and_other_tasks_are_counted_softirqs_are_not(void **state)
{
	struct pieces *p = *state;

	p->own[0] = thread(7, 1, 2);
	p->counts[0][0] = 3;
	p->counts[2][0] = 100;
	p->counts[3][0] = 1;
	p->counts[3][1] = 50; /* on the CPU that nothing ran on */
	join(p);
	assert_int_equal(p->followed.cpus[0].interrupts, 4);
	assert_int_equal(p->followed.cpus[0].softirqs, 100);
	assert_int_equal(verdict(p, NULL), VERDICT_BROKEN);
	p->counts[3][1] = 0;
	followed_free(&p->followed);
	join(p);
	assert_int_equal(verdict(p, "verdict.max_breaks=5"), VERDICT_BROKEN);
	assert_int_equal(verdict(p, "verdict.max_breaks=6"), VERDICT_KEPT);
}

static void test_what_the_program_may_have_sent_itself_breaks_nothing(void **state)
{
	struct pieces *p = *state;

	p->own[0] = thread(7, 1, 0);
	p->counts[1][0] = 30;
	join(p);
	assert_int_equal(verdict(p, NULL), VERDICT_BROKEN);
	followed_free(&p->followed);
	p->keep.record->calls[9] =
		(struct record_call){ .site = 1, .kind = RECORD_MUNMAP, .tid = 8, .n = 31 };
	join(p);
	assert_int_equal(verdict(p, NULL), VERDICT_INCONCLUSIVE);
	assert_int_equal(verdict(p, "verdict.ignore=none"), VERDICT_BROKEN);
}

static void test_two_entries_of_one_place_are_one(void **state)
{
	struct pieces *p = *state;

	for (int i = 0; i < 2; i++)
		p->keep.record->calls[i] = (struct record_call){ .site = 1,
			                                         .kind = RECORD_MUNMAP,
			                                         .tid = 8,
			                                         .n = 2,
			                                         .first_ns = 5u - (unsigned)i };
	p->keep.record->calls[5] =
		(struct record_call){ .site = 2, .kind = RECORD_FORK, .tid = 8, .n = 9 };
	join(p);
	assert_int_equal(p->followed.n_calls, 2);
	assert_int_equal(p->followed.calls[0].kind, RECORD_FORK);
	assert_int_equal(p->followed.calls[1].n, 4);
	assert_int_equal(p->followed.calls[1].first_ns, 4);
	assert_int_equal(p->followed.n_self, 13);
}

static void test_a_limit_on_lengths_cannot_be_judged(void **state)
{
	struct pieces *p = *state;

	p->own[0] = thread(7, 1, 0);
	p->own[0].now.run_delay_ns = 2000;
	p->counts[0][0] = 1;
	join(p);
	assert_int_equal(verdict(p, "verdict.max_gap=1000000"), VERDICT_INCONCLUSIVE);
	assert_int_equal(verdict(p, "verdict.budget_ppm=3"), VERDICT_INCONCLUSIVE);
	assert_int_equal(verdict(p, "verdict.budget_ppm=1"), VERDICT_BROKEN);
}

static void test_what_was_not_seen_is_not_kept(void **state)
{
	struct pieces *p = *state;

	p->own[0] = thread(7, 1, 0);
	p->interrupts.unavailable = "cannot read /proc/interrupts";
	join(p);
	assert_int_equal(verdict(p, NULL), VERDICT_INCONCLUSIVE);
	p->interrupts.unavailable = NULL;
	followed_free(&p->followed);
	cpumask_clear_cpu(&p->interrupts.cpus, 1);
	join(p);
	assert_int_equal(verdict(p, NULL), VERDICT_INCONCLUSIVE);
	cpumask_set(&p->interrupts.cpus, 1);
	followed_free(&p->followed);
	p->keep.record->library.threads_omitted = 1;
	join(p);
	assert_int_equal(verdict(p, NULL), VERDICT_INCONCLUSIVE);
	p->keep.record->library.threads_omitted = 0;
	followed_free(&p->followed);
	followed_join(&p->followed, &p->keep, p->own, &p->own_folded);
	followed_count_cpus(&p->followed, &p->workload, &p->interrupts);
	assert_int_equal(verdict(p, NULL), VERDICT_INCONCLUSIVE);
}

static void test_every_kind_of_call_has_a_name(void **state)
{
	(void)state;
	for (uint32_t kind = 1; kind < RECORD_CALL_KINDS; kind++)
		assert_string_not_equal(record_call_name(kind), "?");
	assert_string_equal(record_call_name(RECORD_CALL_KINDS), "?");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_both_sides_saw_of_a_thread_is_joined),
		TEST(test_what_either_side_saw_within_the_grace_does_not_count),
		TEST(test_a_place_that_nobody_looked_at_does_not_take_the_base_away),
		TEST(test_nothing_that_happened_is_kept_and_nothing_that_ran_is_unused),
		TEST(test_interrupts_and_other_tasks_are_counted_softirqs_are_not),
		TEST(test_what_the_program_may_have_sent_itself_breaks_nothing),
		TEST(test_two_entries_of_one_place_are_one),
		TEST(test_a_limit_on_lengths_cannot_be_judged),
		TEST(test_what_was_not_seen_is_not_kept),
		cmocka_unit_test(test_every_kind_of_call_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
