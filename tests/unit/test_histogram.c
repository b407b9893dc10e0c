/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "../../probe/histogram.h"

#define N 20000

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 11;
}

static void a_bucket_is_within_one_percent_of_all_that_is_in_it(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < N; i++) {
		uint64_t value = next_random(&seed) >> (13 + i % 40);
		unsigned int index = histogram_index(value);
		uint64_t low = histogram_low(index), high = histogram_low(index + 1) - 1;
		uint64_t middle = low + (high - low) / 2;

		assert_in_range(value, low, high);
		assert_true(100 * (value > middle ? value - middle : middle - value) <= value);
	}
}

static void buckets_leave_no_hole_and_do_not_overlap(void **state)
{
	(void)state;
	assert_int_equal(histogram_low(0), 0);
	for (unsigned int i = 1; i < HISTOGRAM_BUCKETS; i++) {
		assert_int_equal(histogram_index(histogram_low(i)), i);
		assert_int_equal(histogram_index(histogram_low(i) - 1), i - 1);
	}
	assert_int_equal(histogram_low(HISTOGRAM_BUCKETS - 1), 1ull << HISTOGRAM_TOP);
}

static void what_is_longer_than_all_buckets_is_counted_in_the_last(void **state)
{
	struct histogram *h = calloc(1, sizeof(*h));

	(void)state;
	assert_non_null(h);
	histogram_add(h, UINT64_MAX / 2);
	histogram_add(h, 1ull << 50);
	assert_int_equal(histogram_index(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
	assert_int_equal(h->buckets[HISTOGRAM_BUCKETS - 1].n, 2);
	assert_int_equal(histogram_total(h, HISTOGRAM_BUCKETS - 1).sum,
	                 UINT64_MAX / 2 + (1ull << 50));
	free(h);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void quantiles_are_within_one_percent_of_those_of_the_values(void **state)
{
	static const double parts[] = { 0, 0.01, 0.5, 0.9, 0.999, 0.99999, 1 };
	struct histogram *h = calloc(1, sizeof(*h));
	uint64_t *values = calloc(N, sizeof(*values)), seed = 7;

	(void)state;
	assert_non_null(h);
	assert_non_null(values);
	for (int i = 0; i < N; i++) {
		values[i] = next_random(&seed) >> (20 + i % 25);
		histogram_add(h, values[i]);
	}
	qsort(values, N, sizeof(*values), compare);
	/* Of all, and of the largest tenth. */
	for (uint64_t n = N; n; n = n == N ? N / 10 : 0) {
		for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
			uint64_t larger = (uint64_t)((1 - parts[i]) * (double)n);
			uint64_t want = values[larger >= n ? N - n : N - 1 - larger];
			uint64_t got = histogram_quantile(h, n, parts[i], 0, UINT64_MAX);

			assert_true(100 * (got > want ? got - want : want - got) <= want + 99);
		}
	}
	assert_int_equal(histogram_quantile(h, 0, 0.5, 0, 9), 0);
	assert_int_equal(histogram_quantile(h, N, 1, 0, 1000), 1000);
	assert_int_equal(histogram_quantile(h, N, 0, 5, UINT64_MAX), 5);
	free(h);
	free(values);
}

static void merged_histograms_have_what_both_had(void **state)
{
	struct histogram *a = calloc(2, sizeof(*a)), *b = a + 1;

	(void)state;
	assert_non_null(a);
	histogram_add(a, 10);
	histogram_add(b, 10);
	histogram_add(b, 100000);
	histogram_merge(a, b);
	assert_int_equal(histogram_total(a, 0).n, 3);
	assert_int_equal(histogram_total(a, 0).sum, 100020);
	assert_int_equal(histogram_total(a, 11).n, 1);
	free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bucket_is_within_one_percent_of_all_that_is_in_it),
		cmocka_unit_test(buckets_leave_no_hole_and_do_not_overlap),
		cmocka_unit_test(what_is_longer_than_all_buckets_is_counted_in_the_last),
		cmocka_unit_test(quantiles_are_within_one_percent_of_those_of_the_values),
		cmocka_unit_test(merged_histograms_have_what_both_had),
	};

	return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
