/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "../../isolcore/facility.h"
#include "../../isolcore/irq.h"
#include "../../isolcore/process.h"
#include "tree.h"

/* CPUs 0-71 of which 70 and 71 are offline; the workload has 2 and 64-69. */
static const struct tree_file machine[] = {
	{ "sys/devices/system/cpu/online", "0-69" },
	{ "sys/devices/system/cpu/possible", "0-71" },
	{ "proc/irq/default_smp_affinity", "ff,ffffffff,ffffffff" },
	{ NULL, NULL },
};

struct scene {
	struct tree *tree;
	struct request req;
	struct plan plan;
	struct error err;
};

static int set_up(void **state)
{
	struct scene *s = xcalloc(1, sizeof(*s));

	s->tree = tree_open(machine);
	s->req.irq.policy = POLICY_TRY;
	cpumask_parse_list(&s->req.cpus.workload, "2,64-69");
	cpumask_parse_list(&s->req.cpus.housekeeping, "0-1,3-63");
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	plan_free(&s->plan);
	error_clear(&s->err);
	cpumask_free(&s->req.cpus.workload);
	cpumask_free(&s->req.cpus.housekeeping);
	tree_close(s->tree);
	free(s);
	return 0;
}

static void put_irq(const struct scene *s, const char *irq, const char *mask, const char *action)
{
	_cleanup_free_ char *file = xasprintf("/proc/irq/%s/smp_affinity_list", irq),
			    *dir = xasprintf("%s/proc/irq/%s/%s", s->tree->dir, irq, action);

	tree_put(s->tree, file, mask);
	assert_int_equal(mkdir(dir, 0755), 0);
}

static void put_thread(const struct scene *s, int pid, const char *comm, unsigned long flags,
                       const char *mask)
{
	_cleanup_free_ char *dir = xasprintf("/proc/%d", pid),
			    *comm_file = xasprintf("%s/comm", dir),
			    *stat_file = xasprintf("%s/stat", dir),
			    *status_file = xasprintf("%s/status", dir),
			    *stat = xasprintf(
				    "%d (%s) S 2 0 0 0 -1 %lu 0 0 0 0 0 0 0 0 -51 0 1 0 %d\n", pid,
				    comm, flags, pid + 7),
			    *status = xasprintf("Name:\t%s\nCpus_allowed_list:\t%s\n", comm, mask);

	tree_put(s->tree, comm_file, comm);
	tree_put(s->tree, stat_file, stat);
	tree_put(s->tree, status_file, status);
}

static void make_plan(struct scene *s)
{
	if (facility_irq.plan(&s->plan, &s->tree->sys, &s->req, "run", &s->err))
		fail_msg("%s", s->err.text);
}

static void apply(struct scene *s)
{
	make_plan(s);
	if (plan_apply(&s->plan, &s->tree->sys, NULL, &s->err))
		fail_msg("%s", s->err.text);
}

static struct knob *knob_of(const struct scene *s, const char *name)
{
	for (size_t i = 0; i < s->plan.n_knobs; i++)
		if (!strcmp(s->plan.knobs[i]->name, name))
			return s->plan.knobs[i];
	return NULL;
}

static void assert_knob(const struct scene *s, const char *name, enum knob_state state,
                        const char *reason, const char *wanted)
{
	const struct knob *knob = knob_of(s, name);

	if (!knob) {
		fail_msg("there is no %s", name);
		return;
	}
	assert_int_equal(knob->state, state);
	assert_ptr_equal(knob->reason, reason);
	if (wanted)
		assert_string_equal(knob->wanted, wanted);
	else
		assert_null(knob->wanted);
}

static void movable_interrupts_lose_the_workloads_cpus_and_keep_the_others(void **state)
{
	struct scene *s = *state;

	put_irq(s, "24", "0-71\n", "eth0");
	put_irq(s, "100", "1-2,64-65\n", "eth1");
	apply(s);
	assert_knob(s, "irq.24.affinity", KNOB_GRANTED, REASON_GRANTED, "0-1,3-63,70-71");
	assert_knob(s, "irq.100.affinity", KNOB_GRANTED, REASON_GRANTED, "1");
	assert_knob(s, "irq.default_affinity", KNOB_GRANTED, REASON_GRANTED,
	            "c0,ffffffff,fffffffb");
	tree_expect(s->tree, "/proc/irq/100/smp_affinity_list", "1\n");
}

static void an_interrupt_with_no_other_cpu_goes_to_the_housekeeping_cpus(void **state)
{
	struct scene *s = *state;

	put_irq(s, "24", "64\n", "eth0");
	put_irq(s, "25", "69-71\n", "eth1"); /* those that remain are offline */
	tree_put(s->tree, "/proc/irq/default_smp_affinity", "00000004\n");
	make_plan(s);
	assert_knob(s, "irq.24.affinity", KNOB_PLANNED, NULL, "0-1,3-63");
	assert_knob(s, "irq.25.affinity", KNOB_PLANNED, NULL, "0-1,3-63");
	assert_knob(s, "irq.default_affinity", KNOB_PLANNED, NULL, "ffffffff,fffffffb");
}

static void an_interrupt_that_is_off_already_is_held(void **state)
{
	struct scene *s = *state;

	put_irq(s, "24", "3-63\n", "eth0");
	apply(s);
	assert_knob(s, "irq.24.affinity", KNOB_GRANTED, REASON_ALREADY, "3-63");
	assert_int_equal(plan_observe(&s->plan, &s->tree->sys, true), 0);
	tree_put(s->tree, "/proc/irq/24/smp_affinity_list", "0-71\n");
	assert_int_equal(plan_observe(&s->plan, &s->tree->sys, true), 1);
	assert_int_equal(knob_of(s, "irq.24.affinity")->observed_state, OBSERVED_DRIFTED);
}

static void an_interrupt_that_is_freed_is_neither_a_failure_nor_drift(void **state)
{
	struct scene *s = *state;

	put_irq(s, "24", "0-71\n", "eth0");
	put_irq(s, "25", "0-71\n", "eth1");
	s->req.irq.policy = POLICY_REQUIRE;
	make_plan(s);
	tree_remove(s->tree, "/proc/irq/24/smp_affinity_list");
	if (plan_apply(&s->plan, &s->tree->sys, NULL, &s->err))
		fail_msg("%s", s->err.text);
	assert_int_equal(knob_of(s, "irq.24.affinity")->state, KNOB_GRANTED);
	assert_ptr_equal(knob_of(s, "irq.24.affinity")->reason, REASON_IRQ_GONE);
	tree_remove(s->tree, "/proc/irq/25/smp_affinity_list");
	assert_int_equal(plan_observe(&s->plan, &s->tree->sys, true), 0);
	assert_int_equal(knob_of(s, "irq.25.affinity")->observed_state, OBSERVED_KEPT);
	/* The same of what does not end on its own is drift. */
	tree_remove(s->tree, "/proc/irq/default_smp_affinity");
	assert_int_equal(plan_observe(&s->plan, &s->tree->sys, true), 1);
}

static void irqbalance_at_work_among_the_other_cpus_is_no_drift(void **state)
{
	struct scene *s = *state;

	put_irq(s, "24", "0-71\n", "eth0");
	apply(s);
	tree_put(s->tree, "/proc/irq/24/smp_affinity_list", "7\n");
	assert_int_equal(plan_observe(&s->plan, &s->tree->sys, true), 0);
	assert_int_equal(knob_of(s, "irq.24.affinity")->observed_state, OBSERVED_KEPT);
	tree_put(s->tree, "/proc/irq/24/smp_affinity_list", "2\n");
	assert_int_equal(plan_observe(&s->plan, &s->tree->sys, true), 1);
}

static void a_managed_interrupt_is_exposed_not_refused(void **state)
{
	struct scene *s = *state;
	_cleanup_free_ char *file = xasprintf("%s/proc/irq/24/smp_affinity_list", s->tree->dir);
	const struct knob *knob;

	put_irq(s, "24", "2-3\n", "nvme0q3");
	put_irq(s, "25", "4-5\n", "nvme0q4"); /* managed too, but out of the way */
	assert_int_equal(chmod(file, 0444), 0);
	s->req.irq.policy = POLICY_REQUIRE;
	apply(s);
	assert_knob(s, "irq.24.affinity", KNOB_EXPOSED, REASON_MANAGED_IRQ, NULL);
	knob = knob_of(s, "irq.24.affinity");
	assert_non_null(strstr(knob->detail, "24 (nvme0q3)"));
	assert_non_null(strstr(knob->remedy, "managed_irq"));
	assert_knob(s, "irq.25.affinity", KNOB_GRANTED, REASON_ALREADY, "4-5");
}

static void a_refused_write_is_explained(void **state)
{
	static const struct {
		int err;
		enum knob_state state;
		const char *reason;
		const char *word;
	} rows[] = {
		{ EIO, KNOB_EXPOSED, REASON_MANAGED_IRQ, "places it itself" },
		{ EPERM, KNOB_EXPOSED, REASON_MANAGED_IRQ, "places it itself" },
		{ ENOSPC, KNOB_REFUSED, REASON_NO_VECTOR, "vector" },
		{ EINVAL, KNOB_REFUSED, REASON_INVALID_VALUE, "online" },
		{ EBUSY, KNOB_REFUSED, REASON_BUSY, "just now" },
		{ ENOENT, KNOB_GRANTED, REASON_IRQ_GONE, "freed" },
		{ EROFS, KNOB_REFUSED, REASON_READ_ONLY, NULL }, /* the engine's own words */
	};
	struct scene *s = *state;
	struct knob *knob;

	put_irq(s, "24", "0-71\n", "eth0");
	make_plan(s);
	knob = knob_of(s, "irq.24.affinity");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = { .err = rows[i].err };

		knob_judge(knob, KNOB_REFUSED, REASON_READ_ONLY, NULL);
		knob_irq_affinity.judge(&s->tree->sys, knob, &err);
		assert_int_equal(knob->state, rows[i].state);
		assert_ptr_equal(knob->reason, rows[i].reason);
		if (rows[i].word)
			assert_non_null(strstr(knob->detail, rows[i].word));
		if (rows[i].word)
			assert_non_null(strstr(knob->detail, "24 (eth0)"));
	}
}

static void an_interrupt_still_on_its_old_cpu_is_pending(void **state)
{
	struct scene *s = *state;

	put_irq(s, "24", "0-71\n", "eth0");
	put_irq(s, "25", "0-71\n", "eth1");
	put_irq(s, "26", "0-71\n", "eth2");
	put_irq(s, "27", "0-1\n", "eth3"); /* somebody else moved it a moment ago */
	tree_put(s->tree, "/proc/irq/27/effective_affinity_list", "2\n");
	tree_put(s->tree, "/proc/irq/24/effective_affinity_list", "64\n");
	tree_put(s->tree, "/proc/irq/25/effective_affinity_list", "3\n");
	tree_put(s->tree, "/proc/irq/26/effective_affinity_list", "\n"); /* not started */
	apply(s);
	assert_knob(s, "irq.24.affinity", KNOB_PENDING, REASON_PENDING, "0-1,3-63,70-71");
	assert_non_null(strstr(knob_of(s, "irq.24.affinity")->detail, "CPU 64"));
	assert_knob(s, "irq.25.affinity", KNOB_GRANTED, REASON_GRANTED, "0-1,3-63,70-71");
	assert_knob(s, "irq.26.affinity", KNOB_GRANTED, REASON_GRANTED, "0-1,3-63,70-71");
	assert_knob(s, "irq.27.affinity", KNOB_PENDING, REASON_PENDING, "0-1");
}

static void an_arm64_per_cpu_interrupt_is_told_as_such(void **state)
{
	struct scene *s = *state;
	_cleanup_free_ char *file = xasprintf("%s/proc/irq/11/smp_affinity_list", s->tree->dir);

	put_irq(s, "11", "0-71\n", "arch_timer");
	assert_int_equal(chmod(file, 0444), 0);
	tree_put(s->tree, "/sys/kernel/irq/11/chip_name", "GICv3\n");
	tree_put(s->tree, "/sys/kernel/irq/11/hwirq", "27\n");
	make_plan(s);
	assert_knob(s, "irq.11.affinity", KNOB_EXPOSED, REASON_PER_CPU_IRQ, NULL);
}

static void an_interrupt_freed_after_the_listing_is_left_out(void **state)
{
	struct scene *s = *state;

	put_irq(s, "24", "0-71\n", "eth0");
	tree_remove(s->tree, "/proc/irq/24/smp_affinity_list");
	put_irq(s, "25", "0-71\n", "eth1");
	make_plan(s);
	assert_null(knob_of(s, "irq.24.affinity"));
	tree_remove(s->tree, "/proc/irq/25/smp_affinity_list");
	assert_int_equal(plan_apply(&s->plan, &s->tree->sys, NULL, &s->err), 0);
	assert_ptr_equal(knob_of(s, "irq.25.affinity")->reason, REASON_IRQ_GONE);
}

static void masks_that_are_none_are_refused_and_never_written(void **state)
{
	static const char *const bad[] = { "garbage\n", "0-\n", "1\n2\n", "99999999\n", "0x3\n" };
	struct scene *s = *state;

	put_irq(s, "24", "", "eth0");
	tree_put(s->tree, "/proc/irq/default_smp_affinity", "xyz\n");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		tree_put(s->tree, "/proc/irq/24/smp_affinity_list", bad[i]);
		plan_free(&s->plan);
		apply(s);
		assert_knob(s, "irq.24.affinity", KNOB_REFUSED, REASON_UNREADABLE, NULL);
		assert_knob(s, "irq.default_affinity", KNOB_REFUSED, REASON_UNREADABLE, NULL);
		tree_expect(s->tree, "/proc/irq/24/smp_affinity_list", bad[i]);
	}
}

static void what_the_profile_keeps_is_left_alone_and_told(void **state)
{
	struct scene *s = *state;

	put_irq(s, "24", "0-71\n", "eth0-rx-0");
	put_irq(s, "25", "0-71\n", "eth1-rx-0");
	put_irq(s, "26", "0-71\n", "timer");
	put_irq(s, "27", "0-1\n", "eth0-rx-1"); /* kept, and out of the way */
	put_thread(s, 50, "irq/24-eth0-rx-0", PROCESS_KTHREAD, "0-69");
	s->req.irq.keep = (char *)(uintptr_t) "26, eth0-*,99,nobody";
	make_plan(s);
	assert_knob(s, "irq.24.affinity", KNOB_EXPOSED, REASON_KEPT, NULL);
	assert_knob(s, "irq.25.affinity", KNOB_PLANNED, NULL, "0-1,3-63,70-71");
	assert_knob(s, "irq.26.affinity", KNOB_EXPOSED, REASON_KEPT, NULL);
	assert_null(knob_of(s, "irq.27.affinity"));
	assert_null(knob_of(s, "irq.24.thread.eth0-rx-0"));
	assert_int_equal(s->plan.n_notes, 2);
	assert_non_null(strstr(s->plan.notes[0]->text, "\"99\""));
	assert_non_null(strstr(s->plan.notes[1]->text, "\"nobody\""));
}

static void threads_of_interrupts_go_along(void **state)
{
	struct scene *s = *state;

	put_thread(s, 50, "irq/24-eth0", PROCESS_KTHREAD, "2-3");
	put_thread(s, 51, "irq/25-eth1", PROCESS_KTHREAD, "64");
	put_thread(s, 52, "irq/26-eth2", PROCESS_KTHREAD, "0-1"); /* out of the way */
	put_thread(s, 53, "irq/27-eth3", PROCESS_KTHREAD | PROCESS_NO_SETAFFINITY, "64");
	put_thread(s, 54, "irq/28-evil", 0, "0-69"); /* a user's process */
	put_thread(s, 55, "irq/x", PROCESS_KTHREAD, "0-69");
	make_plan(s);
	assert_knob(s, "irq.24.thread.eth0", KNOB_PLANNED, NULL, "3");
	assert_string_equal(knob_of(s, "irq.24.thread.eth0")->path, "/proc/50/57");
	assert_knob(s, "irq.25.thread.eth1", KNOB_PLANNED, NULL, "0-1,3-63");
	assert_knob(s, "irq.27.thread.eth3", KNOB_EXPOSED, REASON_BOUND_THREAD, NULL);
	assert_int_equal(s->plan.n_knobs, 4); /* with the default affinity */
}

static void answers_of_the_profile_are_obeyed(void **state)
{
	struct scene *s = *state;

	put_irq(s, "24", "0-71\n", "eth0");
	put_thread(s, 50, "irq/24-eth0", PROCESS_KTHREAD, "2-3");
	s->req.irq.threads = ANSWER_NO;
	s->req.irq.default_affinity = ANSWER_NO;
	make_plan(s);
	assert_int_equal(s->plan.n_knobs, 1);
	plan_free(&s->plan);
	s->req.irq.policy = POLICY_OFF;
	make_plan(s);
	assert_int_equal(s->plan.n_knobs, 0);
	assert_int_equal(irq_new_since(&s->plan, &s->tree->sys, &s->req), 0);
}

static void an_interrupt_that_appears_during_the_run_is_found_once(void **state)
{
	struct scene *s = *state;

	put_irq(s, "24", "0-71\n", "eth0");
	s->req.irq.keep = (char *)(uintptr_t) "eth0,eth9";
	apply(s);
	assert_int_equal(irq_new_since(&s->plan, &s->tree->sys, &s->req), 0);
	put_irq(s, "30", "0-71\n", "eth1");
	put_irq(s, "31", "0-1\n", "eth2");  /* out of the way */
	put_irq(s, "32", "0-71\n", "eth9"); /* kept */
	assert_int_equal(irq_new_since(&s->plan, &s->tree->sys, &s->req), 1);
	assert_knob(s, "irq.30.affinity", KNOB_EXPOSED, REASON_NEW_IRQ, NULL);
	assert_int_equal(irq_new_since(&s->plan, &s->tree->sys, &s->req), 0);
	tree_put(s->tree, "/proc/irq/31/smp_affinity_list", "64\n");
	assert_int_equal(irq_new_since(&s->plan, &s->tree->sys, &s->req), 1);
}

static void a_machine_without_proc_irq_is_told(void **state)
{
	struct scene *s = *state;

	tree_remove(s->tree, "/proc/irq/default_smp_affinity");
	tree_remove(s->tree, "/proc/irq");
	make_plan(s);
	assert_int_equal(s->plan.n_knobs, 1);
	assert_int_equal(s->plan.knobs[0]->state, KNOB_UNAVAILABLE);
	assert_ptr_equal(s->plan.knobs[0]->reason, REASON_ABSENT);
}

static void without_a_housekeeping_cpu_nothing_is_planned(void **state)
{
	struct scene *s = *state;

	put_irq(s, "24", "0-71\n", "eth0");
	cpumask_free(&s->req.cpus.housekeeping);
	assert_int_equal(facility_irq.plan(&s->plan, &s->tree->sys, &s->req, "run", &s->err),
	                 -EINVAL);
	assert_non_null(strstr(s->err.text, "housekeeping"));
}

#define test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(movable_interrupts_lose_the_workloads_cpus_and_keep_the_others),
		test(an_interrupt_with_no_other_cpu_goes_to_the_housekeeping_cpus),
		test(an_interrupt_that_is_off_already_is_held),
		test(an_interrupt_that_is_freed_is_neither_a_failure_nor_drift),
		test(irqbalance_at_work_among_the_other_cpus_is_no_drift),
		test(a_managed_interrupt_is_exposed_not_refused),
		test(a_refused_write_is_explained),
		test(an_interrupt_still_on_its_old_cpu_is_pending),
		test(an_arm64_per_cpu_interrupt_is_told_as_such),
		test(an_interrupt_freed_after_the_listing_is_left_out),
		test(masks_that_are_none_are_refused_and_never_written),
		test(what_the_profile_keeps_is_left_alone_and_told),
		test(threads_of_interrupts_go_along),
		test(answers_of_the_profile_are_obeyed),
		test(an_interrupt_that_appears_during_the_run_is_found_once),
		test(a_machine_without_proc_irq_is_told),
		test(without_a_housekeeping_cpu_nothing_is_planned),
	};

	return cmocka_run_group_tests_name("irq", tests, NULL, NULL);
}
