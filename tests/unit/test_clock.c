/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>

#include "../../probe/clock.h"

#define SECOND_NS 1000000000u
#define N_POINTS  60

static const struct clock_scale two_ghz = { 1ull << 31, 32 }; /* half a nanosecond a step */

static void long_times_are_exact(void **state)
{
	uint64_t century_steps = 2 * (100ull * 366 * 86400 * SECOND_NS);

	(void)state;
	assert_int_equal(clock_ns(&two_ghz, 2 * 4300000000u), 4300000000u);
	assert_int_equal(clock_ns(&two_ghz, century_steps), century_steps / 2);
	assert_int_equal(clock_steps(&two_ghz, century_steps / 2), century_steps);
	assert_true(clock_hz(&two_ghz) == 2e9);
}

static void a_moment_may_be_before_the_point_it_is_seen_from(void **state)
{
	struct clock_point point = { 1000, 5000, 0 };

	(void)state;
	assert_int_equal(clock_at(&two_ghz, &point, 1200), 5100);
	assert_int_equal(clock_at(&two_ghz, &point, 800), 4900);
}

/* A counter at a frequency that changes by a part after the middle of a minute. */
static size_t minute(struct clock_point *points, double hz, double change)
{
	double steps = 12345;

	for (unsigned int i = 0; i < N_POINTS; i++) {
		points[i] = (struct clock_point){ (uint64_t)steps, (uint64_t)i * SECOND_NS, 100 };
		steps += i < N_POINTS / 2 ? hz : hz * (1 + change);
	}
	return N_POINTS;
}

static void a_steady_counter_is_fitted_to_a_millionth(void **state)
{
	static const double frequencies[] = { 24e6, 54e6, 1e9, 2596.99e6, 5e9 };
	struct clock_point points[N_POINTS];

	(void)state;
	for (size_t i = 0; i < sizeof(frequencies) / sizeof(*frequencies); i++) {
		struct clock_scale scale;
		uint64_t off_ns;
		size_t n = minute(points, frequencies[i], 0);

		assert_int_equal(clock_fit(&scale, points, n, &off_ns), 0);
		assert_true(fabs(clock_hz(&scale) / frequencies[i] - 1) < 1e-6);
		assert_int_equal(off_ns, 0);
	}
}

static void a_counter_that_changes_its_rate_is_found_out(void **state)
{
	struct clock_point points[N_POINTS];
	struct clock_scale scale;
	uint64_t off_ns;
	size_t n = minute(points, 2.6e9, 0.01);

	(void)state;
	assert_int_equal(clock_fit(&scale, points, n, &off_ns), 0);
	/* 30 s at 1 % more are 0.15 s off in the middle. */
	assert_in_range(off_ns, 100000000, 200000000);
}

static void what_a_wide_point_may_be_off_is_not_held_against_the_counter(void **state)
{
	struct clock_point points[N_POINTS];
	struct clock_scale scale;
	uint64_t off_ns;
	size_t n = minute(points, 1e9, 0);

	(void)state;
	points[10].steps += 5000;
	points[10].width = 6000;
	assert_int_equal(clock_fit(&scale, points, n, &off_ns), 0);
	assert_int_equal(off_ns, 0);
}

static void a_counter_that_stands_still_is_refused(void **state)
{
	struct clock_point points[2] = { { 5, 100, 0 }, { 5, 200, 0 } };
	struct clock_scale scale;
	uint64_t off_ns;

	(void)state;
	assert_int_equal(clock_fit(&scale, points, 2, &off_ns), -EINVAL);
	assert_int_equal(clock_fit(&scale, points, 1, &off_ns), -EINVAL);
}

static void granularity_is_the_most_frequent_step_whatever_the_smallest_is(void **state)
{
	uint64_t reads[1000], now = 77;
	struct clock_quality q;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		reads[i] = now;
		now += i % 100 == 0 ? 1 : i % 3 ? 26 : 0;
	}
	q = clock_judge(reads, 1000);
	assert_int_equal(q.granularity, 26);
	assert_int_equal(q.median, 26);
	assert_int_equal(q.backwards, 0);
	assert_true(q.read_cost > 10 && q.read_cost < 26);
}

static void steps_back_are_counted(void **state)
{
	uint64_t reads[] = { 100, 120, 90, 110, 130, 129 };

	(void)state;
	assert_int_equal(clock_judge(reads, 6).backwards, 2);
}

static void this_machines_counter_advances_with_its_clock(void **state)
{
	struct clock_scale fitted, kernels;
	struct clock_point before = clock_now(), after;
	int rc = clock_kernel_scale(&kernels);

	(void)state;
	assert_int_equal(clock_fit_quickly(&fitted), 0);
	after = clock_now();
	assert_true(after.ns > before.ns && after.steps > before.steps);
	assert_true(clock_examine().read_cost > 0);
	/* In a virtual machine with a paravirtual clock the kernel has none to offer. */
	if (!rc)
		assert_true(fabs(clock_hz(&fitted) / clock_hz(&kernels) - 1) < 0.02);
	else
		assert_true(rc == -ENOTSUP || rc == -EACCES || rc == -EPERM || rc == -ENOSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_times_are_exact),
		cmocka_unit_test(a_moment_may_be_before_the_point_it_is_seen_from),
		cmocka_unit_test(a_steady_counter_is_fitted_to_a_millionth),
		cmocka_unit_test(a_counter_that_changes_its_rate_is_found_out),
		cmocka_unit_test(what_a_wide_point_may_be_off_is_not_held_against_the_counter),
		cmocka_unit_test(a_counter_that_stands_still_is_refused),
		cmocka_unit_test(granularity_is_the_most_frequent_step_whatever_the_smallest_is),
		cmocka_unit_test(steps_back_are_counted),
		cmocka_unit_test(this_machines_counter_advances_with_its_clock),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
