/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "../../isolcore/cpulist.h"
#include "tree.h"

/*
 * A machine with holes: CPUs 0-71 are possible, 0-39 and 64-67 present, 8 and 9 of those offline.
 * 4-7 are isolated, 5-7 nohz_full too. Node 1 has 32-39,64-67; CPU 3's sibling is 35.
 */
static const struct tree_file tree[] = {
	{ "sys/devices/system/cpu/possible", "0-71" },
	{ "sys/devices/system/cpu/present", "0-39,64-67" },
	{ "sys/devices/system/cpu/online", "0-7,10-39,64-67" },
	{ "sys/devices/system/cpu/isolated", "4-7" },
	{ "sys/devices/system/cpu/nohz_full", "5-7" },
	{ "sys/devices/system/node/online", "0-1" },
	{ "sys/devices/system/node/node0/cpulist", "0-31" },
	{ "sys/devices/system/node/node1/cpulist", "32-39,64-67" },
	{ "sys/devices/system/cpu/cpu3/topology/thread_siblings_list", "3,35" },
	{ 0 },
};

static int setup(void **state)
{
	*state = tree_open(tree);
	return 0;
}

struct good {
	const char *text, *cpus;
};

static const struct good good[] = {
	{ "0", "0" },
	{ "2-3,7", "2-3,7" },
	{ "7,2-3", "2-3,7" },
	{ "3,3,2-3", "2-3" },
	{ " 2-3 , 7\t", "2-3,7" },
	{ "007", "7" },
	{ "64", "64" },
	/* strides are as taskset's, groups as the kernel's */
	{ "0-7:2", "0,2,4,6" },
	{ "1-7:2", "1,3,5,7" },
	{ "0-7:1", "0-7" },
	{ "0-7:3", "0,3,6" },
	{ "3-3:5", "3" },
	{ "10-31:18446744073709551615", "10" },
	{ "0-31:2/16", "0-1,16-17" },
	{ "0-7:2/4", "0-1,4-5" },
	{ "1-7:2/4", "1-2,5-6" },
	{ "0-7:4/4", "0-7" },
	{ "0-7:1/18446744073709551615", "0" },
	/* only what a stride selects must be there */
	{ "6-10:4", "6,10" },
	{ "0-32:31", "0,31" },
	{ "66-71:18", "66" },
	/* masks */
	{ "0x0c", "2-3" },
	{ "0xC", "2-3" },
	{ "0X1", "0" },
	{ "0x0000000000000000000000000000000001", "0" },
	{ "f,00000001", "0,32-35" },
	{ "0xf,00000001", "0,32-35" },
	{ "0x1,00000000,00000000", "64" },
	{ "00000003,000000f0", "4-7,32-33" },
	{ "1,00000000", "32" },
	{ "0x3,7", "0-1,7" },
	{ "7,0x3", "0-1,7" },
	{ "10,f,00000000", "10,32-35" },
	{ "0xf,00000000,7", "7,32-35" },
	/* words */
	{ "all", "0-7,10-39,64-67" },
	{ "N", "67" },
	{ "65-N", "65-67" },
	{ "N-N", "67" },
	{ "64-N:2", "64,66" },
	{ "isolated", "4-7" },
	{ "nohz_full", "5-7" },
	{ "housekeeping", "0-3,10-39,64-67" },
	{ "node:1", "32-39,64-67" },
	{ "siblings:3", "3,35" },
	{ "isolated,siblings:3,0", "0,3-7,35" },
	/* taking away */
	{ "!0", "1-7,10-39,64-67" },
	{ "!0-38", "39,64-67" },
	{ "!0-38,64-66", "39,67" },
	{ "!0-38,!64-66", "39,67" },
	{ "! 0-38", "39,64-67" },
	{ "0-7,!2,3", "0-1,4-7" },
	{ "0-7,!0x0f", "4-7" },
	{ "isolated,!4", "5-7" },
	{ "isolated,!siblings:3", "4-7" },
	{ "node:1,!N", "32-39,64-66" },
	{ "!8", "0-7,10-39,64-67" }, /* it is offline anyway */
	{ "!node:0", "32-39,64-67" },
	{ "!f,ffffffff", "36-39,64-67" },
};

static void lists_that_are_understood(void **state)
{
	const struct system *sys = tree_system(*state);

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		_cleanup_cpumask_ struct cpumask m = CPUMASK_INIT;
		_cleanup_error_ struct error err = ERROR_INIT;
		_cleanup_free_ char *list = NULL;

		if (cpulist_parse(&m, good[i].text, sys, NULL, &err))
			fail_msg("%s: %s", good[i].text, err.text);
		list = cpumask_list(&m);
		if (strcmp(list, good[i].cpus) != 0)
			fail_msg("%s: got %s, not %s", good[i].text, list, good[i].cpus);
	}
}

struct bad {
	const char *text;
	int code;
	const char *says; /* part of the sentence */
};

static const struct bad bad[] = {
	/* not a list */
	{ "", EINVAL, "the CPU list is empty" },
	{ "  ", EINVAL, "the CPU list is empty" },
	{ "2,,3", EINVAL, "nothing between two commas" },
	{ "2,", EINVAL, "nothing between two commas" },
	{ ",2", EINVAL, "nothing between two commas" },
	{ "1 2", EINVAL, "\"1 2\" is not a CPU number or range" },
	{ "2\n3", EINVAL, "\"2\\x0a3\"" },
	{ "-1", EINVAL, "\"-1\" is not a CPU number or range" },
	{ "1-", EINVAL, "\"1-\" is not a CPU number or range" },
	{ "1--3", EINVAL, "\"1--3\" is not a CPU number or range" },
	{ "3-1", EINVAL, "\"3-1\" is a range that ends before it begins" },
	{ "3:2", EINVAL, "\"3:2\" has a stride but no range" },
	{ "0-7:", EINVAL, "\"0-7:\" has a stride that is not a number" },
	{ "0-7:0", EINVAL, "\"0-7:0\" has a stride that is not a number from 1" },
	{ "0-7:x", EINVAL, "\"0-7:x\"" },
	{ "0-7:2/", EINVAL, "how many CPUs of how large a group" },
	{ "0-7:4/2", EINVAL, "\"0-7:4/2\" does not say how many" },
	{ "0-7:0/2", EINVAL, "\"0-7:0/2\"" },
	{ "0-7/2", EINVAL, "\"0-7/2\"" },
	{ "f", EINVAL, "a mask is written 0xf" },
	{ "1f", EINVAL, "a mask is written 0x1f" },
	{ "0x", EINVAL, "\"0x\"" },
	{ "0xg", EINVAL, "\"0xg\"" },
	{ "ffffffff", EINVAL, "\"ffffffff\" could be a mask or a CPU number" },
	{ "00000003", EINVAL, "\"00000003\" could be a mask or a CPU number" },
	{ "2-3,00000003", EINVAL, "\"00000003\" could be a mask or a CPU number" },
	{ "izolated", EINVAL, "did you mean \"isolated\"" },
	{ "cpu3", EINVAL, "\"cpu3\" is not a CPU number, range, mask or one of all" },
	{ "node:", EINVAL, "does not name a NUMA node" },
	{ "node:x", EINVAL, "\"node:x\" does not name a NUMA node" },
	{ "siblings:-3", EINVAL, "\"siblings:-3\" does not name a CPU" },
	{ "!", EINVAL, "nothing after the \"!\"" },
	{ "2,!", EINVAL, "nothing after the \"!\"" },
	{ "!!2", EINVAL, "\"!2\"" },
	{ "0-4,!3,7", EINVAL, "\"7\" stands after \"!\"" },
	{ "3,!3", EINVAL, "that is no CPU" },
	{ "!all", EINVAL, "that is no CPU" },
	{ "0x0", EINVAL, "that is no CPU" },
	/* does not exist */
	{ "68", ENXIO, "\"68\" names a CPU that does not exist; this machine has 0-39,64-67" },
	{ "2,40", ENXIO, "CPU 40 does not exist" },
	{ "38-41", ENXIO, "CPUs 40-41 in \"38-41\" do not exist; this machine has 0-39,64-67" },
	{ "0-18446744073709551615", ENXIO, "names a CPU that does not exist" },
	{ "0-18446744073709551616", ENXIO, "names a CPU that does not exist" },
	{ "0-99999999999999999999999999", ENXIO, "names a CPU that does not exist" },
	{ "18446744073709551615-18446744073709551615", ENXIO, "does not exist" },
	{ "0-18446744073709551615:18446744073709551615", ENXIO, "does not exist" },
	{ "1048575", ENXIO, "\"1048575\" names a CPU that does not exist" },
	{ "4294967296", ENXIO, "\"4294967296\" names a CPU that does not exist" },
	{ "64-68:2/4", ENXIO, "names a CPU that does not exist" },
	{ "0x1000000000000000000", ENXIO, "names a CPU that does not exist" },
	{ "1,00000000,00000000,00000000", ENXIO, "names a CPU that does not exist" },
	{ "!40", ENXIO, "CPU 40 does not exist" },
	{ "node:2", ENXIO, "\"node:2\" does not exist: this machine has nodes 0-1" },
	{ "node:99999999999999999999", ENXIO, "this machine has nodes 0-1" },
	{ "siblings:99", ENXIO, "\"siblings:99\" names a CPU that does not exist" },
	/* offline */
	{ "8", ENODEV, "CPU 8 is offline; online are 0-7,10-39,64-67" },
	{ "6-10", ENODEV, "CPUs 8-9 in \"6-10\" are offline" },
	{ "0-8:2/4", ENODEV, "CPU 8 in \"0-8:2/4\" is offline" },
	{ "0x100", ENODEV, "CPU 8 in \"0x100\" is offline" },
	{ "siblings:9", ENODEV, "CPU 9 in \"siblings:9\" is offline" },
};

static void lists_that_are_refused_say_why(void **state)
{
	const struct system *sys = tree_system(*state);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_cpumask_ struct cpumask m = CPUMASK_INIT;
		_cleanup_error_ struct error err = ERROR_INIT;
		int rc = cpulist_parse(&m, bad[i].text, sys, NULL, &err);

		if (rc != -bad[i].code)
			fail_msg("%s: returned %d: %s", bad[i].text, rc, err.text);
		if (!strstr(err.text, bad[i].says))
			fail_msg("%s: said: %s", bad[i].text, err.text);
		assert_true(cpumask_empty(&m));
	}
}

static void a_cpuset_limits_numbers_and_words(void **state)
{
	static const struct good inside[] = {
		{ "2-3", "2-3" },
		{ "all", "2-5" },
		{ "isolated", "4-5" },
		{ "!2", "3-5" },
	};
	const struct system *sys = tree_system(*state);
	_cleanup_cpumask_ struct cpumask allowed = CPUMASK_INIT, m = CPUMASK_INIT;
	_cleanup_error_ struct error err = ERROR_INIT;

	cpumask_set_range(&allowed, 2, 5);
	for (size_t i = 0; i < ARRAY_SIZE(inside); i++) {
		_cleanup_free_ char *list = NULL;

		assert_int_equal(cpulist_parse(&m, inside[i].text, sys, &allowed, NULL), 0);
		list = cpumask_list(&m);
		assert_string_equal(list, inside[i].cpus);
	}
	assert_int_equal(cpulist_parse(&m, "3-6", sys, &allowed, &err), -EPERM);
	assert_non_null(strstr(err.text, "CPU 6 in \"3-6\" is not allowed; the cpuset that chisol "
	                                 "runs in has 2-5 ([cgroup] gives the command one of its "
	                                 "own"));
}

static void a_kernel_without_nohz_full_or_numa_says_so(void **state)
{
	static const struct tree_file small[] = {
		{ "sys/devices/system/cpu/online", "0-1" },
		{ 0 },
	};
	struct tree *t = tree_open(small);
	_cleanup_cpumask_ struct cpumask m = CPUMASK_INIT;
	_cleanup_error_ struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(cpulist_parse(&m, "nohz_full", tree_system(t), NULL, &err), -ENXIO);
	assert_non_null(strstr(err.text, "CONFIG_NO_HZ_FULL"));
	assert_int_equal(cpulist_parse(&m, "node:0", tree_system(t), NULL, &err), -ENXIO);
	assert_non_null(strstr(err.text, "knows no NUMA nodes"));
	assert_int_equal(cpulist_parse(&m, "isolated", tree_system(t), NULL, &err), -EINVAL);
	tree_close(t);
}

static void numbers_far_over_1024_are_taken(void **state)
{
	static const struct tree_file large[] = {
		{ "sys/devices/system/cpu/online", "0-1048575" },
		{ 0 },
	};
	struct tree *t = tree_open(large);
	_cleanup_cpumask_ struct cpumask m = CPUMASK_INIT;

	(void)state;
	assert_int_equal(cpulist_parse(&m, "4095,1048575", tree_system(t), NULL, NULL), 0);
	assert_int_equal(cpumask_last(&m), 1048575);
	assert_int_equal(cpulist_parse(&m, "0-N", tree_system(t), NULL, NULL), 0);
	assert_int_equal(cpumask_weight(&m), 1048576);
	assert_int_equal(cpulist_parse(&m, "1048576", tree_system(t), NULL, NULL), -ENXIO);
	tree_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lists_that_are_understood, setup, tree_teardown),
		cmocka_unit_test_setup_teardown(lists_that_are_refused_say_why, setup,
		                                tree_teardown),
		cmocka_unit_test_setup_teardown(a_cpuset_limits_numbers_and_words, setup,
		                                tree_teardown),
		cmocka_unit_test(a_kernel_without_nohz_full_or_numa_says_so),
		cmocka_unit_test(numbers_far_over_1024_are_taken),
	};

	return cmocka_run_group_tests_name("cpulist", tests, NULL, NULL);
}
