/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "../../probe/threshold.h"

#define GHZ(ns) ((uint64_t)((ns)*2.6)) /* steps of a counter of 2.6 GHz */

static struct histogram *h;

static int setup(void **state)
{
	(void)state;
	h = calloc(1, sizeof(*h));
	return h ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(h);
	return 0;
}

/* n gaps, evenly from one length to another. */
static void heap(uint64_t from, uint64_t to, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		histogram_add(h, from + (to - from) * i / n);
}

static void between_noise_and_kernel_entries_it_is_in_the_valley(void **state)
{
	uint64_t threshold;

	(void)state;
	/* As measured in a virtual machine: facts, not round numbers. */
	heap(GHZ(100), GHZ(400), 15091);
	heap(GHZ(400), GHZ(1000), 121);
	heap(GHZ(1000), GHZ(5000), 1397);
	heap(GHZ(5000), GHZ(50000), 2981);
	threshold = threshold_place(h, GHZ(100), GHZ(4000));
	assert_in_range(threshold, GHZ(400), GHZ(1000));
}

static void a_few_stray_gaps_in_the_valley_do_not_move_it_out(void **state)
{
	(void)state;
	heap(GHZ(100), GHZ(250), 100000);
	heap(GHZ(300), GHZ(900), 8);
	heap(GHZ(1100), GHZ(3000), 1000);
	assert_in_range(threshold_place(h, GHZ(100), GHZ(4000)), GHZ(250), GHZ(1100));
}

static void without_noise_it_is_below_the_kernel_entries(void **state)
{
	(void)state;
	heap(GHZ(900), GHZ(4000), 500);
	assert_in_range(threshold_place(h, GHZ(100), GHZ(4000)), GHZ(100), GHZ(900));
}

static void without_kernel_entries_it_is_above_the_noise(void **state)
{
	(void)state;
	heap(GHZ(100), GHZ(300), 5000);
	assert_in_range(threshold_place(h, GHZ(100), GHZ(4000)), GHZ(300), GHZ(4000));
}

static void without_gaps_it_is_in_the_middle(void **state)
{
	(void)state;
	assert_in_range(threshold_place(h, GHZ(100), GHZ(4000)), GHZ(400), GHZ(1000));
}

static void a_counter_of_24_mhz_has_a_valley_too(void **state)
{
	(void)state;
	heap(2, 6, 3000);   /* up to 250 ns */
	heap(30, 100, 500); /* from 1.25 us on */
	assert_in_range(threshold_place(h, 2, 96), 6, 30);
}

static void it_is_the_lower_end_of_a_bucket(void **state)
{
	uint64_t threshold;

	(void)state;
	heap(GHZ(150), GHZ(777), 1000);
	heap(GHZ(2222), GHZ(4000), 1000);
	threshold = threshold_place(h, GHZ(133), GHZ(4000));
	assert_int_equal(histogram_low(histogram_index(threshold)), threshold);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(between_noise_and_kernel_entries_it_is_in_the_valley),
		TEST(a_few_stray_gaps_in_the_valley_do_not_move_it_out),
		TEST(without_noise_it_is_below_the_kernel_entries),
		TEST(without_kernel_entries_it_is_above_the_noise),
		TEST(without_gaps_it_is_in_the_middle),
		TEST(a_counter_of_24_mhz_has_a_valley_too),
		TEST(it_is_the_lower_end_of_a_bucket),
	};

	return cmocka_run_group_tests_name("threshold", tests, NULL, NULL);
}
