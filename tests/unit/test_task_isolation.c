/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "../../isolcore/cgroup_knobs.h"
#include "../../isolcore/isol_prctl.h"
#include "../../isolcore/vmstat.h"
#include "tree.h"

/* A recorded machine of four CPUs in a temporary directory. */
struct fixture {
	char dir[32];
	struct system sys;
	struct request req;
	struct plan plan;
};

static void set_up(struct fixture *f, const char *release)
{
	*f = (struct fixture){ .dir = "/tmp/chisol-unit.XXXXXX" };
	assert_non_null(mkdtemp(f->dir));
	tree_write(f->dir, "proc/sys/kernel/osrelease", release);
	tree_write(f->dir, "sys/devices/system/cpu/online", "0-3");
	tree_write(f->dir, "proc/sys/vm/stat_interval", "1");
	f->req.task_isolation.policy = POLICY_REQUIRE;
	f->req.task_isolation.quiesce = QUIESCE_VMSTAT_SYNC;
	f->req.task_isolation.accept = ACCEPT_STAND_IN;
	f->req.task_isolation.prctl_base = ISOL_POSTED_BASE;
	cpumask_set_range(&f->req.cpus.workload, 2, 3);
}

static int make_plan(struct fixture *f, struct error *err)
{
	assert_int_equal(system_open(&f->sys, f->dir, NULL), 0);
	return facility_task_isolation.plan(&f->plan, &f->sys, &f->req, "run", err);
}

static void tear_down(struct fixture *f)
{
	plan_free(&f->plan);
	system_close(&f->sys);
	cpumask_free(&f->req.cpus.workload);
	assert_int_equal(nftw(f->dir, tree_unlink, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void what_meets_vmstat_sync_follows_from_the_machine(void **state)
{
	const enum accept K = ACCEPT_KERNEL, P = ACCEPT_PLACEMENT, S = ACCEPT_STAND_IN;

	const struct {
		const char *release, *isolated, *nohz_full, *partition, *interval;
		enum accept accept;
		const char *reason;   /* what the plan says */
		const char *stand_in; /* the vm.stat_interval that it wants; NULL: none */
		const char *detail;
	} rows[] = {
		/* by placement: Linux 6.5, and every CPU isolated at boot */
		{ "6.5.0", "2-3", NULL, NULL, "1", S, REASON_BY_PLACEMENT, NULL, "keeps its" },
		{ "6.5.0", "2-3", NULL, NULL, "1", P, REASON_BY_PLACEMENT, NULL, "keeps its" },
		{ "6.12.1", NULL, "1-3", NULL, "1", S, REASON_BY_PLACEMENT, NULL, "keeps its" },
		{ "6.12.1", "2", "3", NULL, "1", S, REASON_BY_PLACEMENT, NULL, "keeps its" },
		{ "6.5.0", "2", NULL, NULL, "1", S, REASON_BY_STAND_IN, "120", "= 120 s" },
		{ "6.4.9", "2-3", "2-3", NULL, "1", S, REASON_BY_STAND_IN, "120", "= 120 s" },
		{ "6.4.9", "2-3", NULL, NULL, "1", P, REASON_NO_INTERFACE, NULL, "6.5 does" },
		{ "6.8.0", NULL, NULL, NULL, "1", P, REASON_NO_INTERFACE, NULL,
		  "nohz_full=2-3 or isolcpus=2-3, or ask for cgroup.partition" },
		/* a partition that is there already, and one that will be */
		{ "6.8.0", NULL, NULL, "2-3", "1", S, REASON_BY_PLACEMENT, NULL, "keeps its" },
		{ "6.7.0", NULL, NULL, "2-3", "1", S, REASON_BY_STAND_IN, "120", "= 120 s" },
		/* only the kernel's own counts */
		{ "6.12.1", "2-3", "2-3", NULL, "1", K, REASON_NO_INTERFACE, NULL,
		  "accept = kernel" },
		/* a stand-in never makes the interval shorter */
		{ "6.1.0", NULL, NULL, NULL, "600", S, REASON_BY_STAND_IN, "600", "= 600 s" },
		{ "6.1.0", NULL, NULL, NULL, "0", S, REASON_BY_STAND_IN, "120", "= 120 s" },
		{ "6.1.0", NULL, NULL, NULL, "many", S, REASON_BY_STAND_IN, "120", "= 120 s" },
		{ "6.1.0", NULL, NULL, NULL, "99999999999999999999", S, REASON_BY_STAND_IN, "120",
		  "= 120 s" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fixture f;

		set_up(&f, rows[i].release);
		if (rows[i].isolated)
			tree_write(f.dir, "sys/devices/system/cpu/isolated", rows[i].isolated);
		if (rows[i].nohz_full)
			tree_write(f.dir, "sys/devices/system/cpu/nohz_full", rows[i].nohz_full);
		if (rows[i].partition)
			tree_write(f.dir, "sys/fs/cgroup/cpuset.cpus.isolated", rows[i].partition);
		tree_write(f.dir, "proc/sys/vm/stat_interval", rows[i].interval);
		f.req.task_isolation.accept = rows[i].accept;
		assert_int_equal(make_plan(&f, NULL), 0);
		assert_int_equal(f.plan.n_tasks, 1);
		assert_string_equal(f.plan.tasks[0]->reason, rows[i].reason);
		assert_int_equal(f.plan.tasks[0]->state, rows[i].reason == REASON_NO_INTERFACE
		                                                 ? KNOB_UNAVAILABLE
		                                                 : KNOB_PLANNED);
		assert_non_null(strstr(f.plan.tasks[0]->detail, rows[i].detail));
		assert_int_equal(f.plan.n_knobs, rows[i].stand_in != NULL);
		if (rows[i].stand_in)
			assert_string_equal(f.plan.knobs[0]->wanted, rows[i].stand_in);
		tear_down(&f);
	}
}

/* Whether the kernel will make it valid is not known before; so the stand-in is there as well. */
static void a_partition_that_the_plan_makes_may_meet_it_and_the_child_sees(void **state)
{
	static const struct {
		const char *release;
		enum accept accept;
		const char *reason;
		enum knob_state expected;
		size_t n_stand_ins;
	} rows[] = {
		{ "6.8.0", ACCEPT_STAND_IN, REASON_BY_PLACEMENT, KNOB_PLANNED, 1 },
		{ "6.8.0", ACCEPT_PLACEMENT, REASON_BY_PLACEMENT, KNOB_PLANNED, 0 },
		{ "6.8.0", ACCEPT_KERNEL, REASON_NO_INTERFACE, KNOB_UNAVAILABLE, 0 },
		{ "6.7.0", ACCEPT_STAND_IN, REASON_BY_STAND_IN, KNOB_PLANNED, 1 },
		{ "6.7.0", ACCEPT_PLACEMENT, REASON_NO_INTERFACE, KNOB_UNAVAILABLE, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_cpumask_ struct cpumask own = CPUMASK_INIT;
		_cleanup_free_ char *list = NULL;
		struct fixture f;
		struct task_setting *t;

		set_up(&f, rows[i].release);
		f.req.task_isolation.accept = rows[i].accept;
		plan_add(&f.plan, &facility_cgroup, &knob_cpuset_partition, POLICY_TRY,
		         "cgroup.partition", "/sys/fs/cgroup/chisol-run/cpuset.cpus.partition",
		         NULL, "isolated", "");
		assert_int_equal(make_plan(&f, NULL), 0);
		t = f.plan.tasks[0];
		assert_ptr_equal(t->reason, rows[i].reason);
		assert_int_equal(t->state, rows[i].expected);
		assert_int_equal(f.plan.n_knobs, 1 + rows[i].n_stand_ins);
		if (rows[i].reason == REASON_BY_PLACEMENT) {
			/* The kernel made none of it. */
			if (rows[i].n_stand_ins)
				knob_judge(f.plan.knobs[1], KNOB_REFUSED, REASON_READ_ONLY, NULL);
			assert_int_equal(t->op->apply(&f.sys, t, NULL), -EOPNOTSUPP);
			assert_int_equal(t->state, KNOB_UNAVAILABLE);
			/* The kernel made it, with all that this process may run on. */
			task_judge(t, KNOB_PLANNED, NULL, NULL);
			assert_int_equal(cpumask_get_affinity(&own, 0), 0);
			list = cpumask_list(&own);
			tree_write(f.dir, "sys/fs/cgroup/cpuset.cpus.isolated", list);
			assert_int_equal(t->op->apply(&f.sys, t, NULL), 0);
			assert_ptr_equal(t->reason, REASON_BY_PLACEMENT);
			assert_string_equal(t->granted, "placement");
		}
		tear_down(&f);
	}
}

static void the_profile_and_the_stand_in_share_one_knob(void **state)
{
	struct fixture f;

	(void)state;
	for (int first = 0; first < 2; first++) {
		set_up(&f, "6.1.0");
		f.req.vmstat.policy = POLICY_REQUIRE;
		f.req.vmstat.stat_interval = 30;
		f.req.vmstat.flush = true;
		assert_int_equal(system_open(&f.sys, f.dir, NULL), 0);
		for (int i = 0; i < 2; i++)
			assert_int_equal((i == first ? &facility_vmstat : &facility_task_isolation)
			                         ->plan(&f.plan, &f.sys, &f.req, "run", NULL),
			                 0);
		assert_int_equal(f.plan.n_knobs, 1);
		assert_string_equal(f.plan.knobs[0]->wanted, "30");
		assert_int_equal(f.plan.knobs[0]->policy, POLICY_REQUIRE);
		assert_int_equal(f.plan.n_tasks, 2);
		assert_ptr_equal(f.plan.tasks[0]->op, &vmstat_flush);
		assert_string_equal(f.plan.tasks[1]->reason, REASON_BY_STAND_IN);
		tear_down(&f);
	}
}

static void an_interval_of_one_second_stands_in_for_nothing(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, "6.1.0");
	f.req.vmstat.policy = POLICY_TRY;
	f.req.vmstat.stat_interval = 1;
	assert_int_equal(make_plan(&f, NULL), 0);
	assert_int_equal(f.plan.tasks[0]->state, KNOB_UNAVAILABLE);
	assert_non_null(strstr(f.plan.tasks[0]->detail, "vm.stat_interval = 1 is no stand-in"));
	tear_down(&f);
}

static void the_child_judges_by_what_became_of_the_stand_in(void **state)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	struct fixture f;
	struct task_setting *t;

	(void)state;
	set_up(&f, "6.1.0");
	assert_int_equal(make_plan(&f, NULL), 0);
	t = f.plan.tasks[0];
	knob_judge(f.plan.knobs[0], KNOB_REFUSED, REASON_READ_ONLY, "/proc/sys is read-only");
	assert_int_equal(t->op->apply(&f.sys, t, &err), -EOPNOTSUPP);
	assert_int_equal(t->state, KNOB_UNAVAILABLE);
	assert_non_null(strstr(err.text, "no stand-in: /proc/sys is read-only"));
	assert_ptr_equal(err.reason, REASON_NO_INTERFACE);

	task_judge(t, KNOB_PLANNED, NULL, NULL);
	knob_judge(f.plan.knobs[0], KNOB_GRANTED, REASON_GRANTED, NULL);
	xreplace(&f.plan.knobs[0]->granted, "120");
	assert_int_equal(t->op->apply(&f.sys, t, &err), 0);
	assert_int_equal(t->state, KNOB_GRANTED);
	assert_ptr_equal(t->reason, REASON_BY_STAND_IN);
	assert_string_equal(t->granted, "stand-in");
	tear_down(&f);
}

static void asking_to_inherit_nothing_is_unavailable_without_the_interface(void **state)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	struct fixture f;

	(void)state;
	set_up(&f, "6.18.0");
	f.req.task_isolation.quiesce = 0;
	f.req.task_isolation.inherit = INHERIT_CONF;
	assert_int_equal(make_plan(&f, NULL), 0);
	assert_int_equal(f.plan.n_knobs, 0);
	assert_int_equal(f.plan.tasks[0]->state, KNOB_UNAVAILABLE);
	assert_int_equal(f.plan.tasks[0]->op->apply(&f.sys, f.plan.tasks[0], &err), -EOPNOTSUPP);
	assert_ptr_equal(err.reason, REASON_NO_INTERFACE);
	tear_down(&f);
}

/* Which numbers are its own cannot be told from a tree, and not from a version. */
static void the_file_alone_tells_that_a_recorded_tree_has_the_interface(void **state)
{
	static const char *const releases[] = { "5.10.0", "6.1.0", "6.18.0" };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(releases); i++) {
		_cleanup_isol_ struct isol_interface isol = ISOL_INTERFACE_INIT;
		const bool there = i % 2;
		struct fixture f;

		set_up(&f, releases[i / 2]);
		if (there)
			tree_write(f.dir, "proc/self/task_isolation", "Configured state: none ");
		assert_int_equal(system_open(&f.sys, f.dir, NULL), 0);
		isol_probe(&isol, &f.sys, ISOL_POSTED_BASE, ISOLATION_ABI_AUTO);
		assert_int_equal(isol.absent == NULL, there);
		assert_int_equal(isol.quiesce, there ? QUIESCE_VMSTAT_SYNC : 0);
		tear_down(&f);
	}
}

static void the_state_file_is_read_as_the_kernel_writes_it(void **state)
{
	static const struct {
		const char *text;
		unsigned int quiesce;
		bool active;
	} rows[] = {
		{ "Configured state: none \nActive state: none \nQuiescing: none ", 0, false },
		{ "Configured state: quiesce \nActive state: none \nQuiescing: vmstat_sync ", 1,
		  false },
		{ "Configured state: quiesce \nActive state: quiesce \nQuiescing: vmstat_sync ", 1,
		  true },
		{ "Configured state: quiesce \nActive state: quiesce \nQuiescing: none ", 0, true },
		{ "Configured state:\nActive state: quiesce", 0, true },
		{ "", 0, false },
		{ "Quiescing: vmstat_sync", 0, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct isol_state got;
		struct fixture f;

		set_up(&f, "5.15.0");
		tree_write(f.dir, "proc/self/task_isolation", rows[i].text);
		assert_int_equal(system_open(&f.sys, f.dir, NULL), 0);
		assert_int_equal(isol_get_file(&f.sys, 0, &got, NULL), 0);
		assert_int_equal(got.quiesce, rows[i].quiesce);
		assert_int_equal(got.active, rows[i].active);
		tear_down(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_meets_vmstat_sync_follows_from_the_machine),
		cmocka_unit_test(a_partition_that_the_plan_makes_may_meet_it_and_the_child_sees),
		cmocka_unit_test(the_profile_and_the_stand_in_share_one_knob),
		cmocka_unit_test(an_interval_of_one_second_stands_in_for_nothing),
		cmocka_unit_test(the_child_judges_by_what_became_of_the_stand_in),
		cmocka_unit_test(asking_to_inherit_nothing_is_unavailable_without_the_interface),
		cmocka_unit_test(the_file_alone_tells_that_a_recorded_tree_has_the_interface),
		cmocka_unit_test(the_state_file_is_read_as_the_kernel_writes_it),
	};

	return cmocka_run_group_tests_name("task_isolation", tests, NULL, NULL);
}
