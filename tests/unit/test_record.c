/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>

#include "../../probe/record_keep.h"

static int make(void **state)
{
	static struct record_keep keep = RECORD_KEEP_INIT;

	*state = &keep;
	return record_make(&keep, NULL);
}

static int drop(void **state)
{
	record_drop(*state);
	return 0;
}

static void test_nobody_can_take_the_memory_away(void **state)
{
	struct record_keep *keep = *state;

	assert_int_not_equal(ftruncate(keep->fd, 1), 0);
	assert_int_not_equal(ftruncate(keep->fd, 1 << 30), 0);
	assert_true(fcntl(keep->fd, F_GET_SEALS) & F_SEAL_SEAL);
	assert_int_equal(fcntl(keep->fd, F_GETFD), FD_CLOEXEC);
}

static void test_an_empty_record_tells_nothing(void **state)
{
	struct record_keep *keep = *state;
	struct record_head head;
	struct record_library library;
	size_t n_threads, n_calls;

	record_read_head(keep, &head);
	assert_int_equal(head.state, RECORD_EMPTY);
	record_read_library(keep, &library);
	assert_int_equal(library.follower, RECORD_NO_FOLLOWER);
	free(record_read_threads(keep, &n_threads));
	free(record_read_calls(keep, &n_calls));
	assert_int_equal(n_threads, 0);
	assert_int_equal(n_calls, 0);
}

static void test_whatever_is_written_comes_out_bounded(void **state)
{
	struct record_keep *keep = *state;
	struct record_head head;
	struct record_library library;
	struct record_thread *threads;
	struct record_call *calls;
	size_t n_threads, n_calls;

	memset(&keep->record->head, 0xff, sizeof(*keep->record));
	for (size_t i = 0; i < RECORD_CALLS; i += 2)
		keep->record->calls[i].kind = RECORD_FORK;
	record_read_head(keep, &head);
	assert_in_range(head.state, RECORD_EMPTY, RECORD_ATTACHED);
	record_read_library(keep, &library);
	assert_int_equal(strlen(library.version), sizeof(library.version) - 1);
	assert_in_range(library.follower, RECORD_NO_FOLLOWER, RECORD_WITHDRAWN);
	assert_in_range(library.how, RECORD_PRELOADED, RECORD_LINKED);
	threads = record_read_threads(keep, &n_threads);
	assert_int_equal(n_threads, RECORD_THREADS);
	for (size_t i = 0; i < n_threads; i++) {
		assert_int_equal(strlen(threads[i].name), RECORD_NAME - 1);
		assert_in_range(threads[i].isolation, RECORD_ISOL_NOT_ASKED, RECORD_ISOL_REFUSED);
		assert_in_range(threads[i].isol_errno, 0, 4095);
	}
	free(threads);
	calls = record_read_calls(keep, &n_calls);
	assert_int_equal(n_calls, RECORD_CALLS / 2);
	for (size_t i = 0; i < n_calls; i++) {
		assert_in_range(calls[i].kind, 1, RECORD_CALL_KINDS - 1);
		assert_int_equal(strlen(calls[i].object), sizeof(calls[i].object) - 1);
	}
	free(calls);
}

static void test_counts_that_went_back_count_nothing(void **state)
{
	struct record_keep *keep = *state;
	struct record_thread *threads;
	size_t n;

	keep->record->threads[7] = (struct record_thread){ .tid = 1,
		                                           .base = { .voluntary = 5, .minor = 1 },
		                                           .now = { .voluntary = 3, .minor = 4 } };
	threads = record_read_threads(keep, &n);
	assert_int_equal(n, 1);
	assert_int_equal(threads[0].now.voluntary - threads[0].base.voluntary, 0);
	assert_int_equal(threads[0].now.minor - threads[0].base.minor, 3);
	free(threads);
}

static void test_the_highest_cpu_has_a_place(void **state)
{
	struct record_keep *keep = *state;
	_cleanup_cpumask_ struct cpumask mask = CPUMASK_INIT;
	struct record_cpus *cpus = &keep->record->orders.workload;

	cpumask_set(&mask, 3);
	cpumask_set(&mask, CPUMASK_MAX);
	record_order_cpus(cpus, &mask);
	assert_int_equal(cpus->n_words, RECORD_CPU_WORDS);
	assert_true(record_cpus_test(cpus, 3));
	assert_true(record_cpus_test(cpus, CPUMASK_MAX));
	assert_false(record_cpus_test(cpus, 4));
	assert_false(record_cpus_test(cpus, CPUMASK_MAX + 1));
	assert_false(record_cpus_test(cpus, UINT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nobody_can_take_the_memory_away, make, drop),
		cmocka_unit_test_setup_teardown(test_an_empty_record_tells_nothing, make, drop),
		cmocka_unit_test_setup_teardown(test_whatever_is_written_comes_out_bounded, make,
		                                drop),
		cmocka_unit_test_setup_teardown(test_counts_that_went_back_count_nothing, make,
		                                drop),
		cmocka_unit_test_setup_teardown(test_the_highest_cpu_has_a_place, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
