/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mask of the command itself. It is first set to all CPUs there are, since the mask that it
 * inherited limits it also after it has joined a cpuset (Linux >= 6.2, da019032819a), and then to
 * the workload's CPUs; what sched_setaffinity(2) accepted is read back, as it silently leaves out
 * CPUs that the cpuset does not have.
 */
#include "facility.h"

#include "task_affinity.h"

#include <errno.h>

/* Names what stands in the way, after an EINVAL or a mask that came out smaller. */
static void explain(const struct system *sys, const struct cpumask *wanted, struct error *err)
{
	_cleanup_cpumask_ struct cpumask offline = CPUMASK_INIT, allowed = CPUMASK_INIT;
	_cleanup_free_ char *cpuset = NULL, *list = NULL;

	cpumask_copy(&offline, wanted);
	cpumask_andnot(&offline, &sys->machine.online);
	if (!cpumask_empty(&offline)) {
		list = cpumask_list(&offline);
		error_append(err, "; offline: CPUs %s", list);
		return;
	}
	/* With all CPUs asked for, the mask becomes what the cpuset has. */
	if (cpumask_set_affinity(&sys->machine.possible, 0) || cpumask_get_affinity(&allowed, 0) ||
	    sysroot_read(&sys->root, "/proc/self/cpuset", &cpuset, NULL))
		return;
	list = cpumask_list(&allowed);
	error_append(err, "; the cpuset %s has only CPUs %s", cpuset, list);
}

static int set_mask(const struct system *sys, struct task_setting *t, const struct cpumask *wanted,
                    struct error *err)
{
	_cleanup_cpumask_ struct cpumask granted = CPUMASK_INIT;
	_cleanup_error_ struct error error = ERROR_INIT;
	int rc = cpumask_set_affinity(wanted, 0);

	if (rc)
		error_errno(&error, -rc, "cannot pin the command to CPUs %s", t->wanted);
	else if ((rc = cpumask_get_affinity(&granted, 0)))
		error_errno(&error, -rc, "cannot read the CPUs of the command back");
	free(t->granted);
	t->granted = rc ? NULL : cpumask_list(&granted);
	if (!rc && t->op->stage == TASK_STAGE_AFFINITY && !cpumask_equal(&granted, wanted))
		rc = error_set(&error, EINVAL, "the command was pinned to CPUs %s and got only %s",
		               t->wanted, t->granted);
	if (!rc) {
		task_judge(t, KNOB_GRANTED, REASON_GRANTED, NULL);
		return 0;
	}
	if (rc == -EINVAL)
		explain(sys, wanted, &error);
	task_judge(t, KNOB_REFUSED, t->granted ? REASON_READ_BACK_DIFFERS : reason_of_errno(-rc),
	           "%s", error.text);
	return error_move(err, &error);
}

static int apply_reset(const struct system *sys, struct task_setting *t, struct error *err)
{
	return set_mask(sys, t, &sys->machine.possible, err);
}

static int apply_pin(const struct system *sys, struct task_setting *t, struct error *err)
{
	_cleanup_cpumask_ struct cpumask wanted = CPUMASK_INIT;

	if (cpumask_parse_list(&wanted, t->wanted))
		return error_set(err, EINVAL, "\"%s\" is not a list of CPUs", t->wanted);
	return set_mask(sys, t, &wanted, err);
}

static int observe_pin(const struct system *sys, const struct task_setting *t, pid_t pid,
                       char **value)
{
	_cleanup_cpumask_ struct cpumask mask = CPUMASK_INIT;
	int rc = task_affinity_read(&mask, sys, pid, NULL);

	(void)t;
	*value = rc ? NULL : cpumask_list(&mask);
	return rc;
}

static void shell_pin(FILE *out, const struct task_setting *t)
{
	fputs("taskset -p -c ", out);
	shell_quote(out, t->wanted);
	fputs(" $$ > /dev/null\n", out);
}

static const struct task_op reset_op = {
	.stage = TASK_STAGE_AFFINITY_RESET,
	.apply = apply_reset,
	.shell = shell_pin,
};

static const struct task_op pin_op = {
	.stage = TASK_STAGE_AFFINITY,
	.apply = apply_pin,
	.observe = observe_pin,
	.drift_remedy = "if the command places its threads itself, as oslat does, let it: [cgroup] "
			"start = run",
	.shell = shell_pin,
};

/* The same, for a program that is let place its threads itself: where they go then is no drift. */
static const struct task_op start_op = {
	.stage = TASK_STAGE_AFFINITY,
	.apply = apply_pin,
	.shell = shell_pin,
};

static int plan_affinity(struct plan *plan, const struct system *sys, const struct request *req,
                         const char *run_id, struct error *err)
{
	_cleanup_free_ char *all = NULL, *list = NULL;
	enum policy policy =
		req->cpus.policy > req->cgroup.policy ? req->cpus.policy : req->cgroup.policy;

	bool places_itself = policy_asked(req->cgroup.policy) && req->cgroup.start == START_RUN;

	(void)run_id;
	(void)err;
	if (!policy_asked(policy))
		return 0;
	all = cpumask_list(&sys->machine.possible);
	list = cpumask_list(&req->cpus.workload);
	plan_add_task(plan, &facility_affinity, &reset_op, policy, "cpus.reset", all,
	              "the inherited mask would limit the command in its cpuset");
	plan_add_task(plan, &facility_affinity, places_itself ? &start_op : &pin_op, policy,
	              "cpus.affinity", list,
	              places_itself ? "the command starts on the workload's CPUs"
	                            : "the command runs on the workload's CPUs");
	return 0;
}

const struct facility facility_affinity = {
	.name = "cpus",
	.title = "the command's CPUs",
	.plan = plan_affinity,
};
