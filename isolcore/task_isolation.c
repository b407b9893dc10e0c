/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quiescing the command's CPUs: by the kernel's task isolation interface where there is one;
 * otherwise by placement (the kernel keeps its vmstat worker off these CPUs anyway), or by a
 * stand-in (that worker made rare for the length of the run). task_isolation.accept says how much
 * less than the first still counts as granted.
 *
 * Activation and inheritance are matters of the kernel interface. Placement and stand-in hold for
 * every thread on the CPUs from the start, so where one of them is accepted it stands for "-a" and
 * "-I" as well, and the report says so. An interface that answers the probe and refuses afterwards
 * is an error, never a reason to fall back.
 */
#include "cgroup_knobs.h"
#include "isol_prctl.h"
#include "process.h"
#include "vmstat.h"

#include <errno.h>

struct isolation {
	struct isol_interface isol;
	unsigned int quiesce, inherit;
	bool activate, oneshot;
	enum accept accept;
	const struct knob *interval; /* the stand-in, in the plan; NULL: none planned */
};

static void isolation_free(void *data)
{
	struct isolation *is = data;

	isol_interface_free(&is->isol);
	free(is);
}

/* "vmstat_sync, active, inherit conf,active" */
static char *state_text(const struct isol_state *state)
{
	static const char *const inherits[] = {
		[0] = "",
		[INHERIT_CONF] = ", inherit conf",
		[INHERIT_ACTIVE] = ", inherit active",
		[INHERIT_CONF | INHERIT_ACTIVE] = ", inherit conf,active",
	};

	return xasprintf("%s%s%s", state->quiesce & QUIESCE_VMSTAT_SYNC ? "vmstat_sync" : "none",
	                 state->active ? ", active" : "",
	                 inherits[state->inherit & (INHERIT_CONF | INHERIT_ACTIVE)]);
}

static int refuse(struct task_setting *t, enum knob_state state, const char *reason,
                  struct error *why, struct error *err)
{
	task_judge(t, state, reason, "%s", why->text);
	why->reason = reason;
	return error_move(err, why);
}

/* Known since the plan was made. */
static int unavailable(const struct task_setting *t, struct error *err)
{
	int rc = error_set(err, EOPNOTSUPP, "%s", t->detail);

	if (err)
		err->reason = t->reason;
	return rc;
}

/* The order of effects is that of the posted chisol. */
static int configure(struct isolation *is, struct error *err)
{
	int rc = 0;

	if (is->quiesce)
		rc = isol_set_quiesce(&is->isol, is->quiesce, is->oneshot, err);
	if (!rc && is->activate)
		rc = isol_activate(&is->isol, err);
	if (!rc && is->inherit)
		rc = isol_set_inherit(&is->isol, is->inherit, err);
	return rc;
}

/* Compares what the calls and the file tell. Privileges are gone by now, so that the file may be
 * out of reach; the parent, which kept them, looks at it when it observes. */
static int read_back(const struct system *sys, struct isolation *is, struct task_setting *t,
                     struct error *err)
{
	_cleanup_error_ struct error unreadable = ERROR_INIT;
	struct isol_state calls, file;
	int rc = isol_get(&is->isol, &calls, err);

	if (rc)
		return rc;
	free(t->granted);
	t->granted = state_text(&calls);
	if (calls.quiesce != is->quiesce || calls.active != is->activate ||
	    calls.inherit != is->inherit)
		return error_set(err, EIO,
		                 "the kernel took the task isolation settings, but reads \"%s\" "
		                 "instead of \"%s\"",
		                 t->granted, t->wanted);
	if (isol_get_file(sys, 0, &file, &unreadable) == -EACCES)
		return 0;
	if (unreadable.err)
		return error_move(err, &unreadable);
	if (file.quiesce != is->quiesce || file.active != is->activate)
		return error_set(err, EIO,
		                 "the prctl calls tell \"%s\", but /proc/self/task_isolation is "
		                 "not of that opinion",
		                 t->granted);
	return 0;
}

static int apply_by_kernel(const struct system *sys, struct task_setting *t, struct error *err)
{
	_cleanup_error_ struct error why = ERROR_INIT;
	struct isolation *is = t->data;
	struct isol_state state;
	int rc;

	if (t->state == KNOB_UNAVAILABLE)
		return unavailable(t, err);
	rc = configure(is, &why);
	if (!rc)
		rc = read_back(sys, is, t, &why);
	if (rc) {
		/* Some of it may be in effect. */
		if (!t->granted && !isol_get(&is->isol, &state, NULL))
			t->granted = state_text(&state);
		return refuse(t, KNOB_REFUSED,
		              rc == -EIO          ? REASON_READ_BACK_DIFFERS
		              : rc == -EOPNOTSUPP ? REASON_ABSENT
		                                  : reason_of_errno(-rc),
		              &why, err);
	}
	task_judge(t, KNOB_GRANTED, REASON_BY_KERNEL, "%s%s; its threads and children start %s",
	           is->activate ? "active in the main thread"
	           : is->quiesce
	                   ? "configured in the main thread, and the program itself activates it"
	                   : "the program itself configures and activates it",
	           is->oneshot ? " (oneshot, which the kernel does not read back)" : "",
	           is->inherit & INHERIT_ACTIVE ? "active"
	           : is->inherit                ? "with the configuration"
	                                        : "without it (no -I conf)");
	return 0;
}

/* A program that activates or inherits more than it was given does what it is meant to: only a
 * configuration that is gone is a change. A process that has ended has none. */
static int observe_by_kernel(const struct system *sys, const struct task_setting *t, pid_t pid,
                             char **value)
{
	const struct isolation *is = t->data;
	struct isol_state state;
	struct process process;
	int rc = process_read(&process, &sys->root, pid, NULL);

	if (!rc)
		rc = process.state == 'Z' ? -ESRCH : isol_get_file(sys, pid, &state, NULL);
	if (rc)
		return rc;
	*value = state.quiesce == is->quiesce && t->granted ? xstrdup(t->granted)
	                                                    : state_text(&state);
	return 0;
}

static const struct task_op by_kernel = {
	.stage = TASK_STAGE_ISOLATION,
	.apply = apply_by_kernel,
	.observe = observe_by_kernel,
	.free_data = isolation_free,
};

/* What quiesces without the kernel's interface. */
enum means {
	MEANS_NONE,
	MEANS_PLACEMENT,
	MEANS_STAND_IN
};

static const char *const means_names[] = {
	[MEANS_NONE] = "none",
	[MEANS_PLACEMENT] = "placement",
	[MEANS_STAND_IN] = "stand-in",
};

/* A stand-in is worth its name only if the worker comes less often than the kernel's default. */
static bool stands_in(const struct knob *interval, const char *value)
{
	return interval && value && strcmp(value, "0") != 0 && !knob_same_number(value, "1");
}

static bool accepts(const struct isolation *is, enum accept least)
{
	return is->accept == ACCEPT_AUTO || is->accept >= least;
}

static enum means met_by(const struct isolation *is, const struct cpumask *cpus,
                         const struct cpumask *spared, const char *interval)
{
	if (cpumask_subset(cpus, spared) && accepts(is, ACCEPT_PLACEMENT))
		return MEANS_PLACEMENT;
	if (stands_in(is->interval, interval) && accepts(is, ACCEPT_STAND_IN))
		return MEANS_STAND_IN;
	return MEANS_NONE;
}

/* What would have been needed, one clause for each way. */
static int not_met(struct error *err, const struct isolation *is, const struct system *sys,
                   const struct cpumask *cpus)
{
	_cleanup_free_ char *list = cpumask_list(cpus);
	int rc;

	error_set(err, EOPNOTSUPP, "vmstat_sync: %s", is->isol.absent);
	if (!accepts(is, ACCEPT_PLACEMENT))
		return error_append(err, "; nothing less counts with task_isolation.accept = "
		                         "kernel, the default under policy = require (others: "
		                         "placement, stand-in)");
	if (vmstat_spares_boot_isolated(&sys->machine))
		rc = error_append(
			err,
			"; not all of the CPUs %s are isolated (boot with nohz_full=%s or "
			"isolcpus=%s%s)",
			list, list, list,
			vmstat_spares_partitions(&sys->machine)
				? ", or ask for cgroup.partition = isolated on cgroup v2"
				: "");
	else
		rc = error_append(err,
		                  "; Linux %u.%u does not keep its vmstat worker off any CPU "
		                  "(6.5 does)",
		                  sys->machine.kernel_major, sys->machine.kernel_minor);
	if (!accepts(is, ACCEPT_STAND_IN))
		return error_append(err, "; a longer vm.stat_interval is not accepted "
		                         "(task_isolation.accept = placement)");
	if (is->interval && is->interval->detail)
		return error_append(err, "; no stand-in: %s", is->interval->detail);
	if (is->interval)
		return error_append(err, "; vm.stat_interval = %s is no stand-in",
		                    is->interval->wanted);
	return rc;
}

static void judge_met(struct task_setting *t, enum knob_state state, enum means by,
                      const char *interval)
{
	const struct isolation *is = t->data;
	const char *all = is->activate || is->inherit
	                          ? "; it holds for all threads on these CPUs without being "
	                            "activated or inherited"
	                          : "";

	if (by == MEANS_PLACEMENT)
		task_judge(t, state, REASON_BY_PLACEMENT,
		           "the kernel keeps its vmstat worker off these CPUs%s", all);
	else
		task_judge(t, state, REASON_BY_STAND_IN,
		           "not synchronised, only rarer: vm.stat_interval = %s s while the "
		           "command runs; %s%s",
		           interval, is->isol.absent, all);
}

static int read_cpus(const struct system *sys, pid_t pid, struct cpumask *cpus,
                     struct cpumask *spared, struct error *err)
{
	int rc = cpumask_get_affinity(cpus, pid);

	return rc ? error_errno(err, -rc, "cannot read the CPU mask of process %d", pid)
	          : vmstat_spared_cpus(sys, spared, err);
}

/* Judged by what the process got, after its cgroup and its mask are settled. */
static int apply_without_kernel(const struct system *sys, struct task_setting *t, struct error *err)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT, spared = CPUMASK_INIT;
	_cleanup_error_ struct error why = ERROR_INIT;
	struct isolation *is = t->data;
	const char *interval =
		is->interval && is->interval->state == KNOB_GRANTED ? is->interval->granted : NULL;
	enum means by;
	int rc;

	if (t->state == KNOB_UNAVAILABLE)
		return unavailable(t, err);
	rc = read_cpus(sys, 0, &cpus, &spared, &why);
	if (rc)
		return refuse(t, KNOB_REFUSED, REASON_UNREADABLE, &why, err);
	by = met_by(is, &cpus, &spared, interval);
	if (by == MEANS_NONE) {
		not_met(&why, is, sys, &cpus);
		return refuse(t, KNOB_UNAVAILABLE, REASON_NO_INTERFACE, &why, err);
	}
	xreplace(&t->granted, means_names[by]);
	judge_met(t, KNOB_GRANTED, by, interval);
	return 0;
}

static int observe_without_kernel(const struct system *sys, const struct task_setting *t, pid_t pid,
                                  char **value)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT, spared = CPUMASK_INIT;
	const struct isolation *is = t->data;
	_cleanup_free_ char *interval = NULL;
	int rc = read_cpus(sys, pid, &cpus, &spared, NULL);

	if (rc)
		return rc;
	if (is->interval)
		rc = is->interval->type->read(sys, is->interval->path, &interval, NULL);
	if (rc)
		return rc;
	*value = xstrdup(means_names[met_by(is, &cpus, &spared, interval)]);
	return 0;
}

static const struct task_op without_kernel = {
	.stage = TASK_STAGE_ISOLATION,
	.apply = apply_without_kernel,
	.observe = observe_without_kernel,
	.free_data = isolation_free,
};

static const struct knob *planned_partition(const struct plan *plan)
{
	plan_for_each (knob, plan)
		if (knob->type == &knob_cpuset_partition && knob->wanted &&
		    !strcmp(knob->wanted, "isolated"))
			return knob;
	return NULL;
}

/* Which the command will have: without [cpus] and [cgroup] it is not put on the workload's. */
static void command_cpus(struct cpumask *cpus, const struct system *sys, const struct request *req)
{
	if (!sys->root.live || policy_asked(req->cpus.policy) || policy_asked(req->cgroup.policy) ||
	    cpumask_get_affinity(cpus, 0))
		cpumask_copy(cpus, &req->cpus.workload);
}

/*
 * An isolated partition that the plan makes may turn out invalid. So whatever is not certain now
 * gets the stand-in too, if that is accepted, and the child sees what it has. The stand-in is
 * tried: whether the whole is met is for the task setting to say.
 */
static int plan_without_kernel(struct plan *plan, const struct system *sys,
                               const struct request *req, struct task_setting *t, struct error *err)
{
	_cleanup_cpumask_ struct cpumask spared = CPUMASK_INIT, cpus = CPUMASK_INIT;
	_cleanup_error_ struct error why = ERROR_INIT;
	const struct knob *partition = NULL;
	struct isolation *is = t->data;
	enum means by;
	int rc;

	if (!is->quiesce) {
		task_judge(t, KNOB_UNAVAILABLE, REASON_NO_INTERFACE,
		           "nothing to inherit: %s, and nothing is asked to be quiesced",
		           is->isol.absent);
		return 0;
	}
	rc = vmstat_spared_cpus(sys, &spared, err);
	if (rc)
		return rc;
	if (vmstat_spares_partitions(&sys->machine) && accepts(is, ACCEPT_PLACEMENT))
		partition = planned_partition(plan);
	command_cpus(&cpus, sys, req);
	by = met_by(is, &cpus, &spared, NULL);
	if (by != MEANS_PLACEMENT && accepts(is, ACCEPT_STAND_IN)) {
		is->interval = vmstat_interval(plan, sys, req, t->facility, POLICY_TRY);
		if (is->interval->state == KNOB_PLANNED)
			by = met_by(is, &cpus, &spared, is->interval->wanted);
	}
	if (partition && by != MEANS_PLACEMENT) {
		task_judge(t, KNOB_PLANNED, REASON_BY_PLACEMENT,
		           "if %s becomes an isolated partition%s", partition->path,
		           by == MEANS_STAND_IN ? "; else by stand-in" : "");
	} else if (by != MEANS_NONE) {
		judge_met(t, KNOB_PLANNED, by, is->interval ? is->interval->wanted : NULL);
	} else {
		not_met(&why, is, sys, &cpus);
		task_judge(t, KNOB_UNAVAILABLE, REASON_NO_INTERFACE, "%s", why.text);
	}
	return 0;
}

static int plan_isolation(struct plan *plan, const struct system *sys, const struct request *req,
                          const char *run_id, struct error *err)
{
	const struct isol_state asked = {
		.quiesce = req->task_isolation.quiesce,
		.inherit = req->task_isolation.inherit |
		           (req->task_isolation.inherit & INHERIT_ACTIVE ? INHERIT_CONF : 0),
		.active = req->task_isolation.activate,
	};
	_cleanup_free_ char *wanted = state_text(&asked);
	struct task_setting *t;
	struct isolation *is;

	(void)run_id;
	if (!policy_asked(req->task_isolation.policy) || (!asked.quiesce && !asked.inherit))
		return 0;
	is = xcalloc(1, sizeof(*is));
	*is = (struct isolation){
		.quiesce = asked.quiesce,
		.inherit = asked.inherit,
		.activate = asked.active,
		.oneshot = req->task_isolation.oneshot,
		.accept = req->task_isolation.accept,
	};
	isol_probe(&is->isol, sys, req->task_isolation.prctl_base, req->task_isolation.abi);
	t = plan_add_task(plan, &facility_task_isolation,
	                  is->isol.absent ? &without_kernel : &by_kernel,
	                  req->task_isolation.policy, "task_isolation.quiesce", wanted,
	                  "the vmstat worker does not interrupt the command");
	t->data = is;
	if (is->isol.absent)
		return plan_without_kernel(plan, sys, req, t, err);
	if (is->quiesce & ~is->isol.quiesce)
		task_judge(t, KNOB_UNAVAILABLE, REASON_ABSENT,
		           "this kernel's task isolation does not offer vmstat_sync");
	else
		task_judge(t, KNOB_PLANNED, REASON_BY_KERNEL, NULL);
	return 0;
}

const struct facility facility_task_isolation = {
	.name = "task_isolation",
	.title = "task isolation",
	.plan = plan_isolation,
};
