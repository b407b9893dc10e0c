/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgroup_claims.h"
#include "cgroup_knobs.h"
#include "cgroup_world.h"

struct search {
	const struct system *sys;
	const char *run_group;
	const struct cpumask *cpus;
	char *found;
};

char *cgroup_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	return xstrndup(path, slash ? (size_t)(slash - path) : 0);
}

char *cgroup_top(const struct system *sys, const char *run_group)
{
	char *top = cgroup_parent(run_group);

	while (*top) {
		char *above = cgroup_parent(top);

		if (!cgroup_has_file(sys, above, "cgroup.procs")) {
			free(above);
			break;
		}
		free(top);
		top = above;
	}
	return top;
}

static void read_cpus(const struct system *sys, const char *group, const char *file,
                      struct cpumask *cpus)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", group, file);

	if (cgroup_read_cpus(sys, path, cpus, NULL))
		cpumask_free(cpus);
}

void cgroup_effective(struct cpumask *cpus, const struct system *sys, const char *group)
{
	static const char *const files[] = { "cpuset.cpus.effective", "cpuset.effective_cpus",
		                             "effective_cpus" };

	*cpus = (struct cpumask)CPUMASK_INIT;
	for (size_t i = 0; i < ARRAY_SIZE(files) && cpumask_empty(cpus); i++)
		read_cpus(sys, group, files[i], cpus);
}

void cgroup_effective_above(struct cpumask *cpus, const struct system *sys, const char *group,
                            const char *mount)
{
	_cleanup_free_ char *at = xstrdup(group);

	cgroup_effective(cpus, sys, at);
	while (cpumask_empty(cpus) && strlen(at) > strlen(mount)) {
		_cleanup_free_ char *above = cgroup_parent(at);

		xreplace(&at, above);
		cgroup_effective(cpus, sys, at);
	}
}

/* Is the file's first word the given one? An absent file has none. */
static bool reads(const struct system *sys, const char *group, const char *file, const char *word)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", group, file), *text = NULL;
	size_t n = strlen(word);

	return !sysroot_read(&sys->root, path, &text, NULL) && !strncmp(text, word, n) &&
	       (!text[n] || text[n] == ' ');
}

int cgroup_list_runs(const struct system *sys, const char *run_group, struct namelist *runs)
{
	_cleanup_free_ char *above = cgroup_parent(run_group);
	_cleanup_namelist_ struct namelist names = NAMELIST_INIT;
	int rc = sysroot_list(&sys->root, above, &names, NULL);

	for (size_t i = 0; !rc && i < names.n; i++) {
		_cleanup_free_ char *path = xasprintf("%s/%s", above, names.names[i]);

		if (cgroup_is_of_run(path) && strcmp(path, run_group) != 0)
			namelist_take(runs, take_ptr(&path));
	}
	return rc;
}

/* Is it the set for helpers or for everybody else of another run? */
static bool is_taken_from(const char *group)
{
	const char *name = strrchr(group, '/');

	return cgroup_is_of_run(group) && (!strcmp(name, "/help") || !strcmp(name, "/rest"));
}

static void claimed_v1(const struct system *sys, const char *group, const char *prefix,
                       struct cpumask *cpus)
{
	_cleanup_free_ char *balance = xasprintf("%ssched_load_balance", prefix),
			    *exclusive = xasprintf("%scpu_exclusive", prefix),
			    *list = xasprintf("%scpus", prefix);

	if (is_taken_from(group))
		return;
	if (reads(sys, group, balance, "1") || reads(sys, group, exclusive, "1"))
		read_cpus(sys, group, list, cpus);
}

/* A plain group may share CPUs since 6.7, as long as it has others (validate_change()). */
static void claimed_v2(const struct search *search, const char *group, struct cpumask *cpus)
{
	const struct system *sys = search->sys;
	_cleanup_cpumask_ struct cpumask exclusive = CPUMASK_INIT;

	read_cpus(sys, group, "cpuset.cpus.exclusive", &exclusive);
	read_cpus(sys, group, "cpuset.cpus", cpus);
	if (reads(sys, group, "cpuset.cpus.partition", "member") &&
	    machine_kernel_at_least(&sys->machine, 6, 7) && !cpumask_subset(cpus, search->cpus))
		cpumask_free(cpus);
	cpumask_or(cpus, &exclusive);
}

static bool look(void *ctx, const char *group)
{
	struct search *search = ctx;
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	_cleanup_free_ char *list = NULL;
	size_t n = strlen(group);

	if (!strcmp(group, search->run_group))
		return false;
	if (!strncmp(group, search->run_group, n) && search->run_group[n] == '/')
		return true;
	if (cgroup_has_file(search->sys, group, "cgroup.controllers"))
		claimed_v2(search, group, &cpus);
	else
		claimed_v1(search->sys, group,
		           cgroup_has_file(search->sys, group, "cpuset.cpus") ? "cpuset." : "",
		           &cpus);
	if (!cpumask_intersects(&cpus, search->cpus))
		return true;
	list = cpumask_list(&cpus);
	xappend(&search->found, "%s%s (CPUs %s)", search->found ? ", " : "", group, list);
	return true;
}

char *cgroup_claims(const struct system *sys, const char *run_group, const struct cpumask *cpus)
{
	struct search search = { sys, run_group, cpus, NULL };
	_cleanup_free_ char *top = cgroup_top(sys, run_group);

	cgroup_for_each(sys, top, look, &search);
	return search.found;
}

int cgroup_cpus_left(struct cpumask *left, const struct system *sys, const char *run_group,
                     const struct cpumask *cpus, struct error *err)
{
	_cleanup_cpumask_ struct cpumask effective = CPUMASK_INIT;
	_cleanup_free_ char *top = cgroup_top(sys, run_group),
			    *path = xasprintf("%s/cpuset.cpus.effective", top);
	int rc = cgroup_read_cpus(sys, path, &effective, err);

	if (rc)
		return rc;
	cpumask_copy(left, &sys->machine.online);
	if (!cpumask_empty(&effective)) /* without the partitions of others */
		cpumask_and(left, &effective);
	cpumask_andnot(left, &sys->machine.isolated);
	cpumask_andnot(left, cpus);
	return 0;
}
