/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../isolcore/facility.h"
#include "tree.h"

#define SERVER "/sys/kernel/debug/sched/fair_server/cpu"

/* What a machine of that kernel plans for CPUs 1 and 2. */
static void plan_on(struct plan *plan, struct tree *t, enum fair_server wanted)
{
	struct request req = { .scheduler = { POLICY_REQUIRE, wanted } };

	cpumask_set_range(&req.cpus.workload, 1, 2);
	assert_int_equal(facility_scheduler.plan(plan, &t->sys, &req, "run", NULL), 0);
	cpumask_free(&req.cpus.workload);
}

static const struct tree_file linux_6_12[] = {
	{ "proc/sys/kernel/osrelease", "6.12.1" },
	{ "sys/devices/system/cpu/online", "0-3" },
	{ 0 },
};

static void the_server_of_each_cpu_of_the_command_is_turned_off(void **state)
{
	_cleanup_tree_ struct tree *t = tree_open(linux_6_12);
	_cleanup_plan_ struct plan plan = PLAN_INIT, kept = PLAN_INIT;

	(void)state;
	tree_put(t, SERVER "1/runtime", "50000000\n");
	tree_put(t, SERVER "2/runtime", "50000000\n");
	tree_put(t, SERVER "3/runtime", "50000000\n");
	plan_on(&kept, t, FAIR_SERVER_KEEP);
	assert_int_equal(kept.n_knobs, 0);
	plan_on(&plan, t, FAIR_SERVER_OFF);
	assert_int_equal(plan.n_knobs, 2);
	assert_string_equal(plan.knobs[0]->name, "scheduler.fair_server.1");
	assert_string_equal(plan.knobs[1]->path, SERVER "2/runtime");
	plan_for_each (knob, &plan) {
		assert_string_equal(knob->found, "50000000");
		assert_string_equal(knob->wanted, "0");
		assert_int_equal(knob->state, KNOB_PLANNED);
		assert_non_null(strstr(knob->remedy, "EBUSY"));
		assert_non_null(strstr(knob->remedy, "kernel.sched_rt_runtime_us is -1"));
	}
}

static void without_debugfs_it_cannot_be_had_and_what_to_do_is_said(void **state)
{
	_cleanup_tree_ struct tree *t = tree_open(linux_6_12);
	_cleanup_plan_ struct plan plan = PLAN_INIT;

	(void)state;
	plan_on(&plan, t, FAIR_SERVER_OFF);
	assert_int_equal(plan.n_knobs, 2);
	assert_int_equal(plan.knobs[0]->state, KNOB_UNAVAILABLE);
	assert_non_null(strstr(plan.knobs[0]->remedy, "mount debugfs"));
}

static void a_kernel_before_it_has_nothing_to_turn_off(void **state)
{
	static const struct tree_file linux_6_11[] = {
		{ "proc/sys/kernel/osrelease", "6.11.9" },
		{ "sys/devices/system/cpu/online", "0-3" },
		{ 0 },
	};
	_cleanup_tree_ struct tree *t = tree_open(linux_6_11);
	_cleanup_plan_ struct plan plan = PLAN_INIT;

	(void)state;
	plan_on(&plan, t, FAIR_SERVER_OFF);
	assert_int_equal(plan.n_knobs, 0);
}

static void a_kernel_that_panics_on_a_warning_is_left_alone(void **state)
{
	_cleanup_tree_ struct tree *t = tree_open(linux_6_12);
	_cleanup_plan_ struct plan plan = PLAN_INIT;

	(void)state;
	tree_put(t, SERVER "1/runtime", "50000000\n");
	tree_put(t, SERVER "2/runtime", "50000000\n");
	tree_put(t, "/proc/sys/kernel/panic_on_warn", "1\n");
	plan_on(&plan, t, FAIR_SERVER_OFF);
	assert_int_equal(plan.n_knobs, 2);
	assert_int_equal(plan.knobs[0]->state, KNOB_REFUSED);
	assert_string_equal(plan.knobs[0]->reason, REASON_KERNEL_DEFECT);
}

/* In a partition the CPU's server cannot be turned off any more (6.12). */
static void it_comes_before_the_partition(void **state)
{
	size_t scheduler = 0, cgroup = 0;

	(void)state;
	for (size_t i = 0; facility_table[i]; i++) {
		if (facility_table[i] == &facility_scheduler)
			scheduler = i;
		if (facility_table[i] == &facility_cgroup)
			cgroup = i;
	}
	assert_true(scheduler < cgroup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_server_of_each_cpu_of_the_command_is_turned_off),
		cmocka_unit_test(without_debugfs_it_cannot_be_had_and_what_to_do_is_said),
		cmocka_unit_test(a_kernel_before_it_has_nothing_to_turn_off),
		cmocka_unit_test(a_kernel_that_panics_on_a_warning_is_left_alone),
		cmocka_unit_test(it_comes_before_the_partition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
