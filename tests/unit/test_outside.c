/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signs of what is not the kernel's, in recorded trees. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../probe/outside.h"
#include "tree.h"

#define MS   1000000ull
#define TOPO "sys/devices/system/cpu/cpu1/topology/thread_siblings_list"

static const struct tree_file smt[] = { { "sys/devices/system/cpu/online", "0-3" },
	                                { TOPO, "1,3" },
	                                { "proc/cpuinfo", "flags\t\t: fpu vme\n" },
	                                { NULL, NULL } };

static struct outside_watch watch_cpu_1(const struct tree *tree)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	struct outside_watch watch;

	cpumask_set(&cpus, 1);
	outside_open(&watch, &tree->sys, &cpus);
	return watch;
}

/* /proc/stat with some steal time of CPU 1 and some user time of CPU 3. */
static void look(struct outside_watch *watch, const struct tree *tree, uint64_t time,
                 unsigned int steal, unsigned int user)
{
	_cleanup_free_ char *text =
		xasprintf("cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 500 0 0 7 0 0 0 %llu 0 0\n"
	                  "cpu1 5 0 5 70 1 0 0 %u 0 0\ncpu3 %u 0 0 7 0 0 0 0 0 0\nintr 5 0 0\n",
	                  (unsigned long long)time, steal, user);

	tree_put(tree, "/proc/stat", text);
	outside_look(watch, time);
}

static void steal_time_is_seen_where_it_was_and_added_up(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(smt);
	struct outside_watch watch = watch_cpu_1(tree);

	(void)state;
	look(&watch, tree, 100 * MS, 40, 5);
	look(&watch, tree, 200 * MS, 40, 5);
	look(&watch, tree, 300 * MS, 43, 5);
	look(&watch, tree, 400 * MS, 43, 5);
	look(&watch, tree, 500 * MS, 43, 5);
	assert_int_equal(outside_signs(&watch, 0, 210 * MS, 220 * MS), SIGN_STEAL);
	/* The tick that adds it up may come late. */
	assert_int_equal(outside_signs(&watch, 0, 150 * MS, 160 * MS), SIGN_STEAL);
	assert_int_equal(outside_signs(&watch, 0, 310 * MS, 390 * MS), 0);
	assert_int_equal(outside_signs(&watch, 0, 50 * MS, 390 * MS), 0); /* not known before */
	assert_int_equal(outside_steal_ns(&watch, 0), 3 * (1000 * MS / sysconf(_SC_CLK_TCK)));
	outside_free(&watch);
}

static void a_busy_sibling_is_a_sign_and_another_cpu_is_none(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(smt);
	struct outside_watch watch = watch_cpu_1(tree);

	(void)state;
	look(&watch, tree, 100 * MS, 0, 5);
	look(&watch, tree, 200 * MS, 0, 7);
	look(&watch, tree, 300 * MS, 0, 7);
	look(&watch, tree, 400 * MS, 0, 7);
	assert_int_equal(outside_signs(&watch, 0, 110 * MS, 120 * MS), SIGN_SIBLING);
	assert_int_equal(outside_signs(&watch, 0, 210 * MS, 220 * MS), 0);
	outside_free(&watch);
}

static void throttling_and_frequency_changes_are_signs(void **state)
{
	static const char path[] = "/sys/devices/system/cpu/cpu1/cpufreq/stats/total_trans";
	_cleanup_tree_ struct tree *tree = tree_open(smt);
	struct outside_watch watch;

	(void)state;
	tree_put(tree, path, "17\n");
	watch = watch_cpu_1(tree);
	look(&watch, tree, 100 * MS, 0, 5);
	assert_int_equal(outside_signs(&watch, 0, 110 * MS, 120 * MS), 0);
	tree_put(tree, path, "18\n");
	look(&watch, tree, 200 * MS, 0, 5);
	assert_int_equal(outside_signs(&watch, 0, 110 * MS, 120 * MS), SIGN_SLOWED);
	outside_free(&watch);
}

static void a_hypervisor_is_known_by_the_cpus_flag_or_by_its_files(void **state)
{
	static const struct tree_file bare[] = { { "sys/devices/system/cpu/online", "0-1" },
		                                 { NULL, NULL } };
	static const char *const paths[][2] = {
		{ "/proc/cpuinfo", "flags\t\t: fpu hypervisor lahf_lm\n" },
		{ "/sys/hypervisor/type", "xen\n" },
		{ "/proc/device-tree/hypervisor/compatible", "linux,kvm" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_tree_ struct tree *tree = tree_open(bare);
		struct outside_watch watch = watch_cpu_1(tree);

		assert_false(watch.vm);
		outside_free(&watch);
		tree_put(tree, paths[i][0], paths[i][1]);
		watch = watch_cpu_1(tree);
		assert_true(watch.vm);
		outside_free(&watch);
	}
}

static void smis_are_counted_on_intels_own_metal_only(void **state)
{
	static const struct {
		const char *cpuinfo;
		bool counted;
	} cases[] = {
		{ "vendor_id\t: GenuineIntel\nflags\t\t: fpu vme\n", true },
		{ "vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor\n", false },
		{ "vendor_id\t: AuthenticAMD\nflags\t\t: fpu vme\n", false },
	};
	char before[0x34 + 9], after[0x34 + 9];

	(void)state;
	memset(before, 'A', sizeof(before));
	before[sizeof(before) - 1] = '\0';
	memcpy(after, before, sizeof(after));
	after[0x34] = 'D'; /* the lowest byte */
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_tree_ struct tree *tree = tree_open(smt);
		struct outside_watch watch;

		tree_put(tree, "/proc/cpuinfo", cases[i].cpuinfo);
		tree_put(tree, "/dev/cpu/1/msr", before);
		watch = watch_cpu_1(tree);
		tree_put(tree, "/dev/cpu/1/msr", after);
		outside_finish(&watch);
		assert_int_equal(watch.cpus[0].has_smis, cases[i].counted);
		assert_int_equal(watch.cpus[0].smis, cases[i].counted ? 3 : 0);
		outside_free(&watch);
	}
}

static void many_looks_and_strange_files_do_no_harm(void **state)
{
	static const char *const texts[] = { "", "cpu", "cpu1", "cpu99999999999 1 2 3 4 5 6 7 8\n",
		                             "cpu1 -1 x 3\ncpu1 1 2 3 4 5 6 7\n" };
	_cleanup_tree_ struct tree *tree = tree_open(smt);
	struct outside_watch watch = watch_cpu_1(tree);

	(void)state;
	outside_look(&watch, 1); /* no /proc/stat */
	assert_int_equal(watch.n_looks, 0);
	for (uint64_t i = 1; i < 3ull * OUTSIDE_LOOKS; i++)
		look(&watch, tree, i * MS, 7, 5);
	assert_int_equal(watch.n_looks, OUTSIDE_LOOKS);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		tree_put(tree, "/proc/stat", texts[i]);
		outside_look(&watch, 1000 * MS + i);
		assert_int_equal(outside_steal_ns(&watch, 0), 0);
	}
	outside_free(&watch);
}

static void the_manual_has_the_table(void **state)
{
	_cleanup_fclose_ FILE *file = fopen("man/isolprobe.1", "re");
	_cleanup_free_ char *text = xcalloc(1, (size_t)1 << 20);
	const char *at = text;

	(void)state;
	assert_non_null(file); /* the tests run in the top directory */
	assert_true(fread(text, 1, ((size_t)1 << 20) - 1, file) > 0);
	for (size_t i = 0; i < n_outsides; i++) {
		_cleanup_free_ char *row =
			xasprintf(".It Li %s Ta %s Ta %s\n", outsides[i].code,
		                  outsides[i].kernel ? "kernel" : "other", outsides[i].meaning);

		at = strstr(at, row);
		if (!at)
			fail_msg("man/isolprobe.1 lacks, or has elsewhere: %s", row);
	}
	for (size_t i = 0; i < N_SIGNS; i++)
		assert_non_null(strstr(text, sign_names[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steal_time_is_seen_where_it_was_and_added_up),
		cmocka_unit_test(a_busy_sibling_is_a_sign_and_another_cpu_is_none),
		cmocka_unit_test(throttling_and_frequency_changes_are_signs),
		cmocka_unit_test(a_hypervisor_is_known_by_the_cpus_flag_or_by_its_files),
		cmocka_unit_test(smis_are_counted_on_intels_own_metal_only),
		cmocka_unit_test(many_looks_and_strange_files_do_no_harm),
		cmocka_unit_test(the_manual_has_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
