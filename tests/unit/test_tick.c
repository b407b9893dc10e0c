/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "../../probe/tick.h"

#define SECOND 1000000000ull /* steps, here */
#define LOOP   30
#define N_GAPS 200ull

/* A counter of 1 GHz, whatever this machine's is: lengths are given in steps. */
static const struct clock_scale one_ghz = { 1, 0 };

/* Gaps of seconds, and a threshold of one: what this machine does meanwhile is shorter. */
static const struct tick_options options = { SECOND, &one_ghz, 8, 4, NULL, true };

/* A pass of a given length that ends now. */
static void pass(struct isolprobe *probe, uint64_t length)
{
	uint64_t now = isolprobe_counter();
	struct isolprobe_mark mark = isolprobe_gap_(now - length, now);

	probe->ticks++;
	probe->last = mark.last;
	probe->limit = mark.limit;
}

static void begin(struct isolprobe *probe, const struct tick_options *with)
{
	assert_int_equal(tick_begin(probe, with), 0);
	for (int i = 0; i < TICK_LEARN; i++)
		pass(probe, LOOP);
}

static void the_worst_and_the_first_are_kept_exactly(void **state)
{
	struct isolprobe probe;
	struct tick_record *r;

	(void)state;
	begin(&probe, &options);
	for (uint64_t i = 0; i < N_GAPS; i++) /* 1 to 200 seconds, in a mixed order */
		pass(&probe, (i * 77 % N_GAPS + 1) * 10 * SECOND + LOOP);
	r = tick_take(&probe);
	assert_non_null(r);
	assert_int_equal(r->worst.n, 8);
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(tick_worst(r)[i].length, (N_GAPS - i) * 10 * SECOND);
	assert_int_equal(r->n_first, 4);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(r->first[i].length, (i * 77 % N_GAPS + 1) * 10 * SECOND);
	assert_int_equal(r->n_breaks, N_GAPS);
	assert_int_equal(r->max, N_GAPS * 10 * SECOND);
	assert_int_equal(r->min, 10 * SECOND);
	tick_free(r);
}

static void the_usual_loop_is_taken_off_and_lengths_add_up(void **state)
{
	struct isolprobe probe;
	struct tick_record *r;
	uint64_t n = 0, length = 0;

	(void)state;
	begin(&probe, &options);
	for (int i = 0; i < 10; i++)
		pass(&probe, 5 * SECOND + LOOP);
	pass(&probe, SECOND / 2);
	r = tick_take(&probe);
	assert_int_equal(r->loop, LOOP);
	for (int i = 0; i < ISOLPROBE_CLASSES; i++) {
		n += r->breaks[i].n;
		length += r->breaks[i].length;
	}
	assert_int_equal(n, 10);
	assert_int_equal(length, 50 * SECOND);
	assert_true(r->ticks >= TICK_LEARN + 11);
	tick_free(r);
}

static void gaps_while_the_loop_is_learnt_count_as_well(void **state)
{
	struct isolprobe probe;
	struct tick_record *r;

	(void)state;
	assert_int_equal(tick_begin(&probe, &options), 0);
	for (int i = 0; i < TICK_LEARN; i++)
		pass(&probe, i == 500 ? 7 * SECOND + LOOP : LOOP);
	r = tick_take(&probe);
	assert_int_equal(r->n_breaks, 1);
	assert_int_equal(tick_worst(r)[0].length, 7 * SECOND);
	tick_free(r);
}

static void a_run_shorter_than_it_takes_to_learn_has_its_gaps_too(void **state)
{
	struct isolprobe probe;
	struct tick_record *r;

	(void)state;
	assert_int_equal(tick_begin(&probe, &options), 0);
	for (int i = 0; i < 20; i++)
		pass(&probe, i == 5 ? 7 * SECOND + LOOP : LOOP);
	r = tick_take(&probe);
	assert_int_equal(r->n_breaks, 1);
	tick_free(r);
	assert_int_equal(tick_begin(&probe, &options), 0);
	r = tick_take(&probe);
	assert_int_equal(r->n_breaks, 0);
	tick_free(r);
}

static void without_a_threshold_one_is_found_and_what_was_counted_is_counted_again(void **state)
{
	struct tick_options automatic = options;
	struct isolprobe probe;
	struct tick_record *r;
	uint64_t counted = 0;

	(void)state;
	automatic.threshold_ns = 0;
	begin(&probe, &automatic);
	for (int i = 0; i < 1000; i++)
		pass(&probe, LOOP + 150 + (uint64_t)i % 100);
	for (int i = 0; i < 100; i++)
		pass(&probe, LOOP + 2000 + (uint64_t)i);
	r = tick_take(&probe);
	assert_in_range(r->threshold, 250, 2000);
	for (int i = 0; i < ISOLPROBE_CLASSES; i++)
		counted += histogram_total(&r->by_class[i], histogram_index(r->threshold)).n;
	assert_int_equal(r->n_breaks, counted);
	assert_true(counted >= 100);
	for (uint32_t i = 0; i < r->n_first; i++)
		assert_true(r->first[i].length >= r->threshold);
	tick_free(r);
}

static void a_counter_that_goes_back_makes_no_gap(void **state)
{
	struct isolprobe probe;
	struct isolprobe_result *result;
	uint64_t now;

	(void)state;
	assert_int_equal(isolprobe_begin(&probe, 1000 * SECOND), 0);
	now = isolprobe_counter();
	isolprobe_gap_(now + 1000, now);
	result = isolprobe_end(&probe);
	assert_non_null(result);
	assert_true(result->doubts & ISOLPROBE_BACKWARDS);
	assert_int_equal(result->n_gaps, 0);
	isolprobe_free(result);
}

static void sleep_ms(long ms)
{
	struct timespec wait = { 0, ms * 1000000 };

	nanosleep(&wait, NULL);
}

static void a_thread_that_slept_was_switched_out(void **state)
{
	struct isolprobe probe;
	struct isolprobe_result *result;

	(void)state;
	assert_int_equal(isolprobe_begin(&probe, 1000000), 0);
	for (int i = 0; i < TICK_LEARN + 10; i++)
		isolprobe_tick(&probe);
	for (int i = 0; i < 5; i++) {
		sleep_ms(2);
		isolprobe_tick(&probe);
	}
	assert_true(isolprobe_broken() >= 5);
	result = isolprobe_end(&probe);
	assert_true(result->by_class[ISOLPROBE_SWITCHED].n >= 5);
	assert_true(result->max_ns >= 2000000);
	assert_true(isolprobe_percentile(result, 0) >= 990000);
	assert_true(isolprobe_percentile(result, 100) <= result->max_ns);
	assert_int_equal(result->n_worst, result->n_gaps < 64 ? result->n_gaps : 64);
	assert_true(result->worst[0].length_ns == result->max_ns);
	assert_true(result->first[0].start_ns <= result->first[1].start_ns);
	isolprobe_free(result);
}

static void handle(int signal)
{
	(void)signal;
}

static void a_signal_is_work_of_the_kernel_in_the_thread(void **state)
{
	struct isolprobe probe;
	struct isolprobe_result *result;

	(void)state;
	signal(SIGUSR1, handle);
	assert_int_equal(isolprobe_begin(&probe, 1), 0);
	for (int i = 0; i < TICK_LEARN + 10; i++)
		isolprobe_tick(&probe);
	for (int i = 0; i < 50; i++) {
		raise(SIGUSR1);
		isolprobe_tick(&probe);
	}
	result = isolprobe_end(&probe);
	if (!(result->doubts & ISOLPROBE_NO_RSEQ)) /* some may have been preempted as well */
		assert_true(result->by_class[ISOLPROBE_RETURN].n >= 10);
	isolprobe_free(result);
}

/* A program's own restartable sequence, as it leaves it behind: valid, and not ours. */
static const uint32_t words[2] = {
#if defined(__x86_64__)
	0x53053053u
#else
	0xd428bc00u
#endif
};
static struct {
	uint32_t version, flags;
	uint64_t start, length, abort;
} foreign __attribute__((aligned(32)));

static void a_programs_own_sequences_are_left_alone(void **state)
{
	struct isolprobe probe;
	struct tick_record *r;
	volatile uint64_t *slot;

	(void)state;
	foreign.start = (uint64_t)(uintptr_t)&words[0];
	foreign.length = 1;
	foreign.abort = (uint64_t)(uintptr_t)&words[1];
	begin(&probe, &options);
	slot = &tick_current()->rseq->rseq_cs;
	while (slot) { /* until nothing interrupts in between */
		uint64_t ours;

		pass(&probe, 5 * SECOND);
		ours = *slot;
		*slot = (uint64_t)(uintptr_t)&foreign;
		pass(&probe, 5 * SECOND);
		if (ours && *slot == ours) /* armed again */
			break;
	}
	if (slot)
		*slot = (uint64_t)(uintptr_t)&foreign;
	r = tick_take(&probe);
	assert_true(!slot || *slot == (uint64_t)(uintptr_t)&foreign || !*slot);
	assert_true(!slot || r->breaks[ISOLPROBE_INTERRUPT].n >= 1);
	if (slot)
		*slot = 0;
	tick_free(r);
}

static void a_thread_has_one_probe_and_without_it_ticks_are_harmless(void **state)
{
	struct isolprobe probe, second;

	(void)state;
	assert_int_equal(isolprobe_broken(), 0);
	assert_int_equal(isolprobe_begin(&probe, 0), 0);
	assert_int_equal(isolprobe_begin(&second, 0), -EBUSY);
	isolprobe_tick(&second);
	isolprobe_free(isolprobe_end(&probe));
	assert_null(isolprobe_end(&second));
	isolprobe_tick(&probe);
	assert_null(isolprobe_end(&probe));
	isolprobe_free(NULL);
}

static void *tick_alone(void *arg)
{
	struct isolprobe probe;
	uint64_t n = *(uint64_t *)arg;
	struct isolprobe_result *result;

	if (isolprobe_begin(&probe, SECOND))
		return NULL;
	for (uint64_t i = 0; i < n; i++)
		isolprobe_tick(&probe);
	result = isolprobe_end(&probe);
	/* A stay in the probe that was interrupted is one more. */
	return result && result->ticks >= n && result->ticks < n + n / 2 ? result : NULL;
}

static void threads_have_their_own(void **state)
{
	uint64_t n[8];
	pthread_t threads[8];

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		n[i] = 10000 * (i + 1);
		assert_int_equal(pthread_create(&threads[i], NULL, tick_alone, &n[i]), 0);
	}
	for (size_t i = 0; i < 8; i++) {
		void *result;

		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_non_null(result);
		isolprobe_free(result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_worst_and_the_first_are_kept_exactly),
		cmocka_unit_test(the_usual_loop_is_taken_off_and_lengths_add_up),
		cmocka_unit_test(gaps_while_the_loop_is_learnt_count_as_well),
		cmocka_unit_test(a_run_shorter_than_it_takes_to_learn_has_its_gaps_too),
		cmocka_unit_test(
			without_a_threshold_one_is_found_and_what_was_counted_is_counted_again),
		cmocka_unit_test(a_counter_that_goes_back_makes_no_gap),
		cmocka_unit_test(a_thread_that_slept_was_switched_out),
		cmocka_unit_test(a_signal_is_work_of_the_kernel_in_the_thread),
		cmocka_unit_test(a_programs_own_sequences_are_left_alone),
		cmocka_unit_test(a_thread_has_one_probe_and_without_it_ticks_are_harmless),
		cmocka_unit_test(threads_have_their_own),
	};

	return cmocka_run_group_tests_name("tick", tests, NULL, NULL);
}
