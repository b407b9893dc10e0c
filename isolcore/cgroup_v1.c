/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cpusets of cgroup v1 (Documentation/admin-guide/cgroup-v1/cpusets.rst).
 *
 * There is no partition here. CPUs are taken out of load balancing when no set that has them asks
 * for it, the root set included; so the set that keeps it on for the housekeeping CPUs has to be
 * there before the root's goes off. And tasks leave CPUs only by being moved to another set.
 */
#include "cgroup_plan.h"
#include "cgroup_claims.h"

#include <errno.h>

struct v1_sets {
	struct cpumask housekeeping; /* as far as the group above has them */
	struct cpumask all;          /* with the workload's */
	char *mems;
};

static struct knob *add_file(const struct cgroup_planner *p, const struct knob_type *type,
                             const char *group, const char *name, const char *found,
                             const char *wanted, const char *why)
{
	_cleanup_free_ char *file = xasprintf("%s%s", p->world->prefix, name);

	return cgroup_add(p, type, group, file, found, wanted, why);
}

static char *add_set(const struct cgroup_planner *p, const struct v1_sets *sets, const char *name,
                     const struct cpumask *cpus, const char *why)
{
	_cleanup_free_ char *list = cpumask_list(cpus);
	char *group = cgroup_add_group(p, name, why);

	struct knob *knob = add_file(p, &knob_cpuset_cpus, group, "cpus", "", list,
	                             "which CPUs its tasks may have");

	/* A younger run takes its own CPUs away. */
	if (!cpumask_intersects(cpus, &p->req->cpus.workload))
		knob->avoid = &p->req->cpus.workload;
	add_file(p, &knob_cpuset_cpus, group, "mems", "", sets->mems,
	         "a set needs memory nodes before a task can join");
	return group;
}

static void add_balance_off(const struct cgroup_planner *p, const char *group)
{
	add_file(p, &knob_number_file, group, "sched_load_balance", "1", "0",
	         "no set with the workload's CPUs may balance load");
}

/* From the group above the run's up to the root: each of them has the workload's CPUs. */
static void add_balance_off_above(const struct cgroup_planner *p)
{
	_cleanup_free_ char *group = xstrdup(p->parent);

	for (;;) {
		const char *below = group + strlen(p->world->mount);
		_cleanup_free_ char *path = cgroup_file(p->world, group, "sched_load_balance");
		_cleanup_free_ char *name =
			xasprintf("cgroup.%s.sched_load_balance", *below ? below + 1 : "root");
		_cleanup_free_ char *above = cgroup_parent(group);

		plan_add_read(p->plan, p->sys, &facility_cgroup, &knob_cpuset_balance,
		              p->req->cgroup.policy, name, path, "0",
		              "the scheduler leaves the workload's CPUs out of load balancing");
		if (!*below)
			return;
		xreplace(&group, above);
	}
}

static void add_evict(const struct cgroup_planner *p, const char *rest)
{
	plan_add(p->plan, &facility_cgroup, &knob_cgroup_evict, p->req->cgroup.policy,
	         "cgroup.evict", rest, EVICT_IN_PLACE, EVICT_MOVED,
	         "nobody else runs on the workload's CPUs")
		->fresh = true;
}

/* One set of another run without this run's workload CPUs. */
static void add_other(const struct cgroup_planner *p, const char *set)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT, full = CPUMASK_INIT;
	_cleanup_free_ char *path = cgroup_file(p->world, set, "cpus"), *list = NULL,
			    *tasks = xasprintf("%s/tasks", set), *found = NULL,
			    *name = xasprintf("cgroup.%s.cpus", set + strlen(p->parent) + 1);

	if (cgroup_read_cpus(p->sys, path, &cpus, NULL) ||
	    !cpumask_intersects(&cpus, &p->req->cpus.workload) ||
	    cpumask_subset(&cpus, &p->req->cpus.workload))
		return;
	found = cpumask_list(&cpus);
	cpumask_andnot(&cpus, &p->req->cpus.workload);
	list = cpumask_list(&cpus);
	cgroup_effective(&full, p->sys, set);
	cgroup_add_masks(p, tasks, &full, &cpus, true);
	plan_add(p->plan, &facility_cgroup, &knob_cpuset_cpus, p->req->cgroup.policy, name, path,
	         found, list, "what an older run moved there leaves the workload's CPUs, too")
		->avoid = &p->req->cpus.workload;
}

/* Everybody else is in the sets of the runs that were there before, which may have these CPUs. */
static void add_others(const struct cgroup_planner *p)
{
	_cleanup_namelist_ struct namelist runs = NAMELIST_INIT;

	if (cgroup_list_runs(p->sys, p->run, &runs))
		return;
	for (size_t i = 0; i < runs.n; i++) {
		_cleanup_free_ char *help = xasprintf("%s/help", runs.names[i]),
				    *rest = xasprintf("%s/rest", runs.names[i]);

		add_other(p, help);
		add_other(p, rest);
	}
}

static int find_cpus(struct v1_sets *sets, const struct cgroup_planner *p, struct error *err)
{
	_cleanup_cpumask_ struct cpumask above = CPUMASK_INIT;
	_cleanup_free_ char *cpus = cgroup_file(p->world, p->parent, "cpus"),
			    *mems = cgroup_file(p->world, p->parent, "mems"), *list = NULL;
	int rc = cgroup_read_cpus(p->sys, cpus, &above, err);

	if (rc)
		return rc;
	list = cpumask_list(&above);
	if (!cpumask_subset(&p->req->cpus.workload, &above)) {
		cgroup_refuse(p, REASON_CPU_CONFLICT,
		              "put the run's group elsewhere with [cgroup] parent",
		              "the set %s has not all of the workload's CPUs, only %s", p->parent,
		              *list ? list : "none");
		return 1;
	}
	cpumask_copy(&sets->housekeeping, &p->req->cpus.housekeeping);
	cpumask_and(&sets->housekeeping, &above);
	if (cpumask_empty(&sets->housekeeping)) {
		cgroup_refuse(p, REASON_CPU_CONFLICT,
		              "put the run's group elsewhere with [cgroup] parent",
		              "the set %s (CPUs %s) has no housekeeping CPU", p->parent, list);
		return 1;
	}
	cpumask_copy(&sets->all, &sets->housekeeping);
	cpumask_or(&sets->all, &p->req->cpus.workload);
	if (p->req->cgroup.mems_text) {
		sets->mems = xstrdup(p->req->cgroup.mems_text);
		return 0;
	}
	rc = sysroot_read(&p->sys->root, mems, &sets->mems, err);
	if (!rc && !*sets->mems) {
		cgroup_refuse(p, REASON_INVALID_VALUE, "write its memory nodes there first",
		              "%s is empty, so no task can be in a set below", mems);
		return 1;
	}
	return rc;
}

static void note_others(const struct cgroup_planner *p)
{
	_cleanup_free_ char *claims = cgroup_claims(p->sys, p->run, &p->req->cpus.workload);

	if (claims)
		plan_note(p->plan, &facility_cgroup, REASON_CPU_CONFLICT,
		          "other sets have the workload's CPUs, balancing load over them or "
		          "exclusively, and are left as they are: %s",
		          claims);
}

static void plan_sets(const struct cgroup_planner *p, const struct v1_sets *sets)
{
	const struct request *req = p->req;
	bool apart = p->partition != PARTITION_MEMBER;
	bool evict = req->cgroup.evict == ANSWER_YES || (req->cgroup.evict == ANSWER_AUTO && apart);
	_cleanup_free_ char *run = NULL, *help = NULL, *rest = NULL, *hot = NULL,
			    *tasks = xasprintf("%s/tasks", p->parent);

	if (evict) {
		_cleanup_cpumask_ struct cpumask full = CPUMASK_INIT;

		cgroup_effective(&full, p->sys, p->parent);
		cgroup_add_masks(p, tasks, &full, &sets->housekeeping, false);
	}
	run = add_set(p, sets, "", &sets->all, "the run's own set");
	if (apart)
		add_balance_off(p, run);
	if (req->cgroup.helpers != ANSWER_NO)
		help = add_set(p, sets, "help", &sets->housekeeping,
		               "for the command's helper threads");
	if (evict || apart)
		rest = add_set(p, sets, "rest", &sets->housekeeping,
		               "balances load for everybody else");
	hot = add_set(p, sets, "hot", &req->cpus.workload, "for the command");
	if (p->partition == PARTITION_ISOLATED)
		add_balance_off(p, hot);
	if (evict || apart)
		add_others(p);
	if (evict)
		add_evict(p, rest);
	if (apart)
		add_balance_off_above(p);
	cgroup_set_groups(p, req->cgroup.start == START_RUN ? run : hot, help, false);
}

int cgroup_plan_v1(const struct cgroup_planner *p, struct error *err)
{
	struct v1_sets sets = { CPUMASK_INIT, CPUMASK_INIT, NULL };
	int rc = find_cpus(&sets, p, err);

	if (!rc && !p->world->whole && p->partition != PARTITION_MEMBER) {
		cgroup_refuse(p, REASON_NOT_DELEGATED,
		              "run chisol outside the container, or set [cgroup] partition = "
		              "member",
		              "%s: load balancing is up to the root set, which is not visible here",
		              p->world->sentence);
		rc = 1;
	}
	if (!rc) {
		note_others(p);
		plan_sets(p, &sets);
	}
	cpumask_free(&sets.housekeeping);
	cpumask_free(&sets.all);
	free(sets.mems);
	return rc < 0 ? rc : 0;
}
