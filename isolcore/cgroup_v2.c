/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cpusets of cgroup v2 (Documentation/admin-guide/cgroup-v2.rst): the workload's CPUs become a
 * partition, which takes them away from everybody else. Its shape depends on the kernel:
 *
 *   Linux >= 6.7   run (all CPUs, the workload's exclusively) with the threaded groups hot, a
 *                  remote partition, and help
 *   before         run is the partition; with helpers = yes it takes one housekeeping CPU along,
 *                  for help, since hot can only be one below another
 *   no partition   run with hot and help as plain groups
 */
#include "cgroup_plan.h"
#include "cgroup_claims.h"

#include <errno.h>

struct v2_cpus {
	struct cpumask workload;     /* as in the request */
	struct cpumask housekeeping; /* as far as the group above has them */
	struct cpumask left;         /* for everybody else, with the workload's CPUs taken */
};

static void free_cpus(struct v2_cpus *cpus)
{
	cpumask_free(&cpus->workload);
	cpumask_free(&cpus->housekeeping);
	cpumask_free(&cpus->left);
}

static bool is_real_root(const struct cgroup_planner *p)
{
	return p->world->whole && !strcmp(p->parent, p->world->mount);
}

/* A domain group below one with processes would be invalid: it could not hold any. */
static bool has_processes(const struct cgroup_planner *p)
{
	_cleanup_free_ char *procs = xasprintf("%s/cgroup.procs", p->parent);
	_cleanup_free_ pid_t *pids = NULL;
	size_t n;

	return !cgroup_list_tasks(p->sys, procs, &pids, &n, NULL) && n;
}

/* Returns 0, 1 if the plan ends here, or -errno. */
static int find_cpus(struct v2_cpus *cpus, const struct cgroup_planner *p, struct error *err)
{
	_cleanup_cpumask_ struct cpumask above = CPUMASK_INIT;
	_cleanup_free_ char *claims = cgroup_claims(p->sys, p->run, &p->req->cpus.workload),
			    *list = NULL;
	int rc;

	cgroup_effective_above(&above, p->sys, p->parent, p->world->mount);
	if (cpumask_empty(&above))
		cpumask_copy(&above, &p->sys->machine.online);
	list = cpumask_list(&above);
	cpumask_copy(&cpus->workload, &p->req->cpus.workload);
	cpumask_copy(&cpus->housekeeping, &p->req->cpus.housekeeping);
	cpumask_and(&cpus->housekeeping, &above);
	if (!cpumask_subset(&cpus->workload, &above) || cpumask_empty(&cpus->housekeeping)) {
		cgroup_refuse(p, REASON_CPU_CONFLICT,
		              "end what holds the others, ask for other CPUs, or put the run's "
		              "group elsewhere with [cgroup] parent",
		              "%s has only CPUs %s, which is not enough for the workload and a "
		              "housekeeping CPU%s%s",
		              *p->parent ? p->parent : "/", list, claims ? "; claimed by " : "",
		              claims ? claims : "");
		return 1;
	}
	if (claims)
		plan_note(p->plan, &facility_cgroup, REASON_CPU_CONFLICT,
		          "other groups claim the workload's CPUs, which may make the partition "
		          "invalid: %s",
		          claims);
	rc = cgroup_cpus_left(&cpus->left, p->sys, p->run, &cpus->workload, err);
	if (rc || p->partition == PARTITION_MEMBER || !cpumask_empty(&cpus->left))
		return rc;
	return error_set(err, EINVAL,
	                 "the workload's CPUs are the last that are not isolated: leave at least "
	                 "one to everybody else (Linux 6.1 and 6.12 crash without)");
}

struct mask_search {
	const struct cgroup_planner *p;
	const struct cpumask *taken; /* what everybody else loses; NULL: nothing */
};

static bool add_masks(void *ctx, const char *group)
{
	const struct mask_search *search = ctx;
	_cleanup_cpumask_ struct cpumask full = CPUMASK_INIT, reduced = CPUMASK_INIT;
	_cleanup_free_ char *threads = xasprintf("%s/cgroup.threads", group);

	cgroup_effective_above(&full, search->p->sys, group, search->p->world->mount);
	cpumask_copy(&reduced, &full);
	if (search->taken)
		cpumask_andnot(&reduced, search->taken);
	if (!search->taken || !cpumask_equal(&full, &reduced))
		cgroup_add_masks(search->p, threads, &full, &reduced, true);
	return true;
}

/* Before Linux 6.2, tasks in the groups below one that hands the cpuset controller down, or takes
 * it back, get all CPUs of theirs (cpuset_attach()). */
static bool controller_resets_masks(const struct cgroup_planner *p)
{
	_cleanup_free_ char *path = xasprintf("%s/cgroup.subtree_control", p->parent),
			    *found = NULL;

	return !machine_kernel_at_least(&p->sys->machine, 6, 2) &&
	       (knob_cgroup_controller.read(p->sys, path, &found, NULL) ||
	        strncmp(found, CONTROLLER_ON, strlen(CONTROLLER_ON)) != 0);
}

static void plan_masks(const struct cgroup_planner *p, const struct cpumask *taken)
{
	bool member = p->partition == PARTITION_MEMBER, reset = controller_resets_masks(p);
	struct mask_search search = { p, member ? NULL : taken };
	size_t before = p->plan->n_knobs;

	if (!cgroup_masks_get_lost(&p->sys->machine) || (member && !reset))
		return;
	add_masks(&search, p->world->mount);
	cgroup_for_each(p->sys, p->world->mount, add_masks, &search);
	if (reset && p->plan->n_knobs > before)
		plan_note(
			p->plan, &facility_cgroup, REASON_KERNEL_DEFECT,
			"before Linux 6.2, tasks in other groups lose CPU masks of their own, such "
			"as by systemd's CPUAffinity=, when these groups get the cpuset "
			"controller: they may use all CPUs of their groups during the run, and "
			"get their masks back after it");
}

static void add_controller(const struct cgroup_planner *p, const char *group)
{
	const char *below = group + strlen(p->world->mount);
	_cleanup_free_ char *path = xasprintf("%s/cgroup.subtree_control", group),
			    *name = xasprintf("cgroup.%s.subtree_control",
	                                      *below ? below + 1 : "root"),
			    *found = NULL;

	/* In use by others: nothing to do, and not chisol's to undo. */
	if (!knob_cgroup_controller.read(p->sys, path, &found, NULL) &&
	    !strncmp(found, CONTROLLER_ON ",", strlen(CONTROLLER_ON ",")))
		return;
	plan_add_read(p->plan, p->sys, &facility_cgroup, &knob_cgroup_controller,
	              p->req->cgroup.policy, name, path, CONTROLLER_ON,
	              "groups below need the cpuset controller");
}

/* A remote partition needs its CPUs to be exclusive in every group above it but the root. */
static void add_exclusive_above(const struct cgroup_planner *p, const char *group)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	_cleanup_free_ char *path = xasprintf("%s/cpuset.cpus.exclusive", group),
			    *name = xasprintf("cgroup.%s.exclusive",
	                                      group + strlen(p->world->mount) + 1),
			    *found = NULL, *wanted = NULL;

	if (cgroup_read_cpus(p->sys, path, &cpus, NULL))
		return;
	found = cpumask_list(&cpus);
	cpumask_or(&cpus, &p->req->cpus.workload);
	wanted = cpumask_list(&cpus);
	plan_add(p->plan, &facility_cgroup, &knob_cpuset_cpus, p->req->cgroup.policy, name, path,
	         found, wanted, "a partition below needs its CPUs exclusively all the way up")
		->fresh = !sysroot_exists(&p->sys->root, path);
}

/* From the root down to the group that the run's is made in. */
static void plan_above(const struct cgroup_planner *p)
{
	size_t mount = strlen(p->world->mount);
	bool exclusive = p->world->exclusive && p->partition != PARTITION_MEMBER;

	for (const char *end = p->parent + mount;; end += strcspn(end, "/")) {
		_cleanup_free_ char *group = xstrndup(p->parent, (size_t)(end - p->parent));

		if (exclusive && (group[mount] || !p->world->whole))
			add_exclusive_above(p, group);
		add_controller(p, group);
		if (!*end)
			return;
		end++;
	}
}

static void add_cpus(const struct cgroup_planner *p, const char *group, const struct cpumask *cpus)
{
	_cleanup_free_ char *list = cpumask_list(cpus);

	cgroup_add(p, &knob_cpuset_cpus, group, "cpuset.cpus", "", list,
	           "which CPUs its tasks may have");
}

static void add_exclusive(const struct cgroup_planner *p, const char *group)
{
	_cleanup_free_ char *list = cpumask_list(&p->req->cpus.workload);

	if (p->world->exclusive && p->partition != PARTITION_MEMBER)
		cgroup_add(p, &knob_cpuset_cpus, group, "cpuset.cpus.exclusive", "", list,
		           "nobody beside it may claim these CPUs");
}

static void add_partition(const struct cgroup_planner *p, const char *group,
                          enum partition partition)
{
	if (partition != PARTITION_MEMBER)
		cgroup_add(p, &knob_cpuset_partition, group, "cpuset.cpus.partition", "member",
		           partition == PARTITION_ROOT ? "root" : "isolated",
		           "takes the CPUs away from everybody else");
}

static char *add_threaded(const struct cgroup_planner *p, const char *name,
                          const struct cpumask *cpus, const char *why)
{
	char *group = cgroup_add_group(p, name, why);

	/* A domain beside a threaded group can hold no task, and must not take the CPUs along. */
	cgroup_add(p, &knob_cgroup_type, group, "cgroup.type", "domain", "threaded",
	           "threads of one process can be in different groups")
		->opens = true;
	add_cpus(p, group, cpus);
	return group;
}

static char *add_run(const struct cgroup_planner *p, const struct cpumask *cpus)
{
	char *run = cgroup_add_group(p, "", "the run's own group");

	add_cpus(p, run, cpus);
	if (p->req->cgroup.mems_text)
		cgroup_add(p, &knob_cpuset_cpus, run, "cpuset.mems", "", p->req->cgroup.mems_text,
		           "which memory nodes its tasks may use");
	add_exclusive(p, run);
	return run;
}

static void plan_plain(const struct cgroup_planner *p, const struct v2_cpus *cpus)
{
	_cleanup_cpumask_ struct cpumask all = CPUMASK_INIT;
	_cleanup_free_ char *run = NULL;

	cpumask_copy(&all, &cpus->workload);
	if (p->req->cgroup.start == START_RUN)
		cpumask_or(&all, &cpus->housekeeping);
	plan_masks(p, &cpus->workload);
	plan_above(p);
	run = add_run(p, &all);
	add_partition(p, run, p->partition);
	cgroup_set_groups(p, run, NULL, false);
}

static void plan_threaded(const struct cgroup_planner *p, const struct v2_cpus *cpus)
{
	bool above = !p->world->exclusive && p->partition != PARTITION_MEMBER;
	_cleanup_cpumask_ struct cpumask help_cpus = CPUMASK_INIT, all = CPUMASK_INIT;
	_cleanup_free_ char *run = NULL, *hot = NULL, *help = NULL;

	cpumask_copy(&help_cpus, &cpus->housekeeping);
	if (above) { /* one is taken along, the others are left to everybody else */
		cpumask_free(&help_cpus);
		cpumask_set(&help_cpus, (unsigned int)cpumask_last(&cpus->left));
	}
	cpumask_copy(&all, &cpus->workload);
	cpumask_or(&all, &help_cpus);
	plan_masks(p, above ? &all : &cpus->workload);
	plan_above(p);
	run = add_run(p, &all);
	if (above)
		add_partition(p, run, PARTITION_ROOT);
	cgroup_add(p, &knob_cgroup_controller, run, "cgroup.subtree_control", CONTROLLER_OFF,
	           CONTROLLER_ON, "groups below need the cpuset controller");
	hot = add_threaded(p, "hot", &cpus->workload, "for the command");
	add_exclusive(p, hot);
	add_partition(p, hot, p->partition);
	help = add_threaded(p, "help", &help_cpus, "for the command's helper threads");
	cgroup_set_groups(p, hot, help, true);
}

static void plan_groups(const struct cgroup_planner *p, const struct v2_cpus *cpus)
{
	bool member = p->partition == PARTITION_MEMBER;
	bool helpers = p->req->cgroup.helpers == ANSWER_YES ||
	               (p->req->cgroup.helpers == ANSWER_AUTO && (member || p->world->exclusive));

	if (p->req->cgroup.start == START_RUN)
		helpers = false;
	if (helpers && !member && !p->world->exclusive && cpumask_weight(&cpus->left) < 2) {
		cgroup_refuse(p, REASON_CPU_CONFLICT,
		              "set [cgroup] helpers = no, or ask for fewer CPUs",
		              "before Linux 6.7 helper threads need a housekeeping CPU for "
		              "themselves, and only one is left");
		return;
	}
	if (helpers)
		plan_threaded(p, cpus);
	else
		plan_plain(p, cpus);
}

/* The root has it, or this would not be where cpusets are. */
static bool has_controller(const struct cgroup_planner *p)
{
	_cleanup_free_ char *path = xasprintf("%s/cgroup.controllers", p->parent), *text = NULL;

	return !p->delegated || (!sysroot_read(&p->sys->root, path, &text, NULL) &&
	                         cgroup_has_word(text, " ", "cpuset"));
}

int cgroup_plan_v2(const struct cgroup_planner *p, struct error *err)
{
	struct v2_cpus cpus = { CPUMASK_INIT, CPUMASK_INIT, CPUMASK_INIT };
	int rc;

	if (!has_controller(p)) {
		cgroup_refuse(
			p, REASON_NO_CONTROLLER,
			"add cpuset to what is delegated; under systemd with Delegate=cpuset in "
			"the unit, which for users' sessions is user@.service",
			"%s is delegated to chisol without the cpuset controller", p->parent);
		return 0;
	}
	if (!is_real_root(p) && has_processes(p)) {
		cgroup_refuse(p, REASON_NOT_DELEGATED,
		              "name a group without processes with [cgroup] parent (under "
		              "systemd one of a unit with Delegate=yes, which has its processes "
		              "elsewhere with DelegateSubgroup=), or run chisol outside the "
		              "container",
		              "%s has processes of its own, so a group below it cannot hold any",
		              *p->parent ? p->parent : "/");
		return 0;
	}
	if (p->partition != PARTITION_MEMBER && p->world->exclusive &&
	    cpumask_intersects(&p->req->cpus.workload, &p->sys->machine.isolated)) {
		cgroup_refuse(p, REASON_KERNEL_DEFECT,
		              "ask for CPUs that are all isolated since boot or all not, or set "
		              "[cgroup] partition = member",
		              "some of the workload's CPUs are isolated since boot (isolcpus=), "
		              "others not: when a partition of both ends, this kernel forgets that "
		              "some were isolated");
		return 0;
	}
	if (p->req->cgroup.evict == ANSWER_YES && p->partition == PARTITION_MEMBER)
		plan_note(p->plan, &facility_cgroup, REASON_ABSENT,
		          "evict = yes has no effect on cgroup v2 without a partition");
	rc = find_cpus(&cpus, p, err);
	if (!rc)
		plan_groups(p, &cpus);
	free_cpus(&cpus);
	return rc < 0 ? rc : 0;
}
