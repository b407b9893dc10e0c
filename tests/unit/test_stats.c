/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "../../probe/stats.h"

static int near(double got, double want)
{
	return fabs(got - want) <= want * 0.001;
}

static void confidence_limits_are_those_of_the_tables(void **state)
{
	/* Garwood (1936), as tabulated. */
	static const struct {
		uint64_t n;
		double low, high;
	} table[] = {
		{ 0, 0, 3.689 },       { 1, 0.02532, 5.572 },  { 2, 0.2422, 7.225 },
		{ 10, 4.795, 18.39 },  { 50, 37.11, 65.92 },   { 100, 81.36, 121.63 },
		{ 101, 82.27, 122.7 }, { 1000, 938.97, 1064 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct rate rate = rate_poisson(table[i].n, 1000000000);

		assert_true(near(rate.low, table[i].low));
		assert_true(near(rate.high, table[i].high));
	}
}

static void nothing_seen_is_not_a_rate_of_zero(void **state)
{
	struct rate rate = rate_poisson(0, 10000000000);

	(void)state;
	assert_true(rate.per_second == 0 && rate.low == 0);
	assert_true(near(rate.high, 0.3689));
}

static void no_time_gives_no_rate(void **state)
{
	struct rate rate = rate_poisson(5, 0);

	(void)state;
	assert_true(rate.per_second == 0 && rate.low == 0 && rate.high == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(confidence_limits_are_those_of_the_tables),
		cmocka_unit_test(nothing_seen_is_not_a_rate_of_zero),
		cmocka_unit_test(no_time_gives_no_rate),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
