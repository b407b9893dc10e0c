/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "../../isolcore/cpumask.h"

static void list_and_hex_forms_round_trip(void **state)
{
	static const char *const lists[] = { "", "0", "0-3,7", "31-32", "63-64,4095", "1048575" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		_cleanup_cpumask_ struct cpumask a = CPUMASK_INIT, b = CPUMASK_INIT;
		_cleanup_free_ char *list = NULL, *hex = NULL;

		assert_int_equal(cpumask_parse_list(&a, lists[i]), 0);
		list = cpumask_list(&a);
		assert_string_equal(list, lists[i]);
		hex = cpumask_hex(&a);
		assert_int_equal(cpumask_parse_hex(&b, hex), 0);
		assert_true(cpumask_equal(&a, &b));
	}
}

static void kernel_spellings_are_read(void **state)
{
	_cleanup_cpumask_ struct cpumask m = CPUMASK_INIT;
	_cleanup_free_ char *hex = NULL;

	(void)state;
	assert_int_equal(cpumask_parse_list(&m, "(null)\n"), 0);
	assert_true(cpumask_empty(&m));
	assert_int_equal(cpumask_parse_list(&m, "  (null)\n"), 0);
	assert_true(cpumask_empty(&m));
	assert_int_equal(cpumask_parse_list(&m, "\n"), 0);
	assert_int_equal(cpumask_parse_hex(&m, "00000000,0000000c\n"), 0);
	hex = cpumask_hex(&m);
	assert_string_equal(hex, "c");
}

static void what_the_kernel_never_writes_is_refused(void **state)
{
	static const char *const lists[] = { "a",    "1-",      "-1",
		                             "3-1",  "1,,2",    "1 2",
		                             "1\n2", "1048576", "0-18446744073709551615",
		                             "," };
	static const char *const hexes[] = { "", "g", ",1", "1,", "123456789", "0x3", "1\n2" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		_cleanup_cpumask_ struct cpumask m = CPUMASK_INIT;

		assert_int_equal(cpumask_parse_list(&m, lists[i]), -EINVAL);
		assert_true(cpumask_empty(&m));
	}
	for (size_t i = 0; i < ARRAY_SIZE(hexes); i++) {
		_cleanup_cpumask_ struct cpumask m = CPUMASK_INIT;

		assert_int_equal(cpumask_parse_hex(&m, hexes[i]), -EINVAL);
	}
}

static void set_operations_work_across_word_sizes(void **state)
{
	_cleanup_cpumask_ struct cpumask a = CPUMASK_INIT, b = CPUMASK_INIT, empty = CPUMASK_INIT;

	(void)state;
	cpumask_set_range(&a, 60, 70);
	cpumask_set(&b, 5000);
	assert_false(cpumask_intersects(&a, &b));
	cpumask_or(&b, &a);
	assert_true(cpumask_subset(&a, &b));
	assert_false(cpumask_subset(&b, &a));
	assert_int_equal(cpumask_weight(&b), 12);
	assert_int_equal(cpumask_last(&b), 5000);
	cpumask_andnot(&b, &a);
	assert_int_equal(cpumask_next(&b, 0), 5000);
	assert_int_equal(cpumask_next(&b, 5001), -1);
	cpumask_and(&b, &a);
	assert_true(cpumask_equal(&b, &empty));
	assert_int_equal(cpumask_last(&empty), -1);
}

static void own_affinity_is_read(void **state)
{
	_cleanup_cpumask_ struct cpumask m = CPUMASK_INIT;

	(void)state;
	assert_int_equal(cpumask_get_affinity(&m, 0), 0);
	assert_false(cpumask_empty(&m));
	assert_int_equal(cpumask_set_affinity(&m, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_and_hex_forms_round_trip),
		cmocka_unit_test(kernel_spellings_are_read),
		cmocka_unit_test(what_the_kernel_never_writes_is_refused),
		cmocka_unit_test(set_operations_work_across_word_sizes),
		cmocka_unit_test(own_affinity_is_read),
	};

	return cmocka_run_group_tests_name("cpumask", tests, NULL, NULL);
}
