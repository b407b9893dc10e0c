/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../isolcore/facility.h"
#include "../../isolcore/process.h"
#include "tree.h"

static const struct tree_file machine[] = {
	{ "proc/sys/kernel/osrelease", "6.12.1" },
	{ "sys/devices/system/cpu/online", "0-3" },
	{ 0 },
};

static void add_thread(const struct tree *t, int pid, const char *comm, unsigned long flags,
                       const char *cpus)
{
	_cleanup_free_ char *stat = xasprintf("/proc/%d/stat", pid),
			    *status = xasprintf("/proc/%d/status", pid),
			    *name = xasprintf("/proc/%d/comm", pid),
			    *line = xasprintf("%d (%s) S 2 0 0 0 -1 %lu 0 0 0 0 0 0 0 0 20 0 1 0 "
	                                      "%d 0 0\n",
	                                      pid, comm, flags, 100 + pid),
			    *masks = xasprintf("Name:\t%s\nCpus_allowed_list:\t%s\n", comm, cpus);

	tree_put(t, name, comm);
	tree_put(t, stat, line);
	tree_put(t, status, masks);
}

static void what_is_bound_to_no_cpu_is_moved_and_nothing_else(void **state)
{
	_cleanup_tree_ struct tree *t = tree_open(machine);
	_cleanup_plan_ struct plan plan = PLAN_INIT, left = PLAN_INIT;
	struct request req = { .kthreads = { POLICY_TRY, true } };

	(void)state;
	add_thread(t, 10, "kcompactd0", PROCESS_KTHREAD, "0-3");
	add_thread(t, 11, "kswapd1", PROCESS_KTHREAD, "2-3");
	add_thread(t, 12, "rcu_preempt", PROCESS_KTHREAD, "0-1");
	add_thread(t, 13, "ksoftirqd/2", PROCESS_KTHREAD | PROCESS_NO_SETAFFINITY, "2");
	add_thread(t, 14, "irq/24-eth0", PROCESS_KTHREAD, "0-3");
	add_thread(t, 15, "kcompactd0", 0, "0-3"); /* a user's */
	cpumask_set_range(&req.cpus.workload, 2, 3);
	cpumask_set_range(&req.cpus.housekeeping, 0, 1);
	assert_int_equal(facility_kthreads.plan(&plan, &t->sys, &req, "run", NULL), 0);
	assert_int_equal(plan.n_knobs, 2);
	assert_string_equal(plan.knobs[0]->name, "kthreads.10.kcompactd0");
	assert_string_equal(plan.knobs[0]->path, "/proc/10/110");
	assert_string_equal(plan.knobs[0]->found, "0-3");
	assert_string_equal(plan.knobs[0]->wanted, "0-1");
	assert_string_equal(plan.knobs[1]->name, "kthreads.11.kswapd1");
	assert_string_equal(plan.knobs[1]->wanted, "0-1");
	req.kthreads.move = false;
	assert_int_equal(facility_kthreads.plan(&left, &t->sys, &req, "run", NULL), 0);
	assert_int_equal(left.n_knobs, 0);
	cpumask_free(&req.cpus.workload);
	cpumask_free(&req.cpus.housekeeping);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_bound_to_no_cpu_is_moved_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
