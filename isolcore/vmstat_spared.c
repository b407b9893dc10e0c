/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmstat.h"

#include <errno.h>

bool vmstat_spares_boot_isolated(const struct machine *machine)
{
	return machine_kernel_at_least(machine, 6, 5);
}

bool vmstat_spares_partitions(const struct machine *machine)
{
	return machine_kernel_at_least(machine, 6, 8);
}

static int add_partitions(const struct system *sys, const char *path, struct cpumask *cpus,
                          struct error *err)
{
	_cleanup_cpumask_ struct cpumask isolated = CPUMASK_INIT;
	_cleanup_free_
	char *text = NULL;
	int rc;

	if (!sysroot_exists(&sys->root, path))
		return 0;
	rc = sysroot_read(&sys->root, path, &text, err);
	if (rc)
		return rc;
	if (cpumask_parse_list(&isolated, text))
		return error_set(err, EINVAL, "cannot read %s: \"%.60s\" is not a list of CPUs",
		                 path, text);
	cpumask_or(cpus, &isolated);
	return 0;
}

int vmstat_spared_cpus(const struct system *sys, struct cpumask *cpus, struct error *err)
{
	const struct machine *m = &sys->machine;
	int rc = 0;

	if (vmstat_spares_boot_isolated(m)) {
		cpumask_or(cpus, &m->isolated);
		cpumask_or(cpus, &m->nohz_full);
	}
	/* Only the true root of cgroup v2 has the file: at its place alone, or next to v1. */
	if (vmstat_spares_partitions(m))
		rc = add_partitions(sys, "/sys/fs/cgroup/cpuset.cpus.isolated", cpus, err);
	if (!rc && vmstat_spares_partitions(m))
		rc = add_partitions(sys, "/sys/fs/cgroup/unified/cpuset.cpus.isolated", cpus, err);
	return rc;
}
