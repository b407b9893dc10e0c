/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgroup_world.h"
#include "vmstat.h"

bool vmstat_spares_boot_isolated(const struct machine *machine)
{
	return machine_kernel_at_least(machine, 6, 5);
}

bool vmstat_spares_partitions(const struct machine *machine)
{
	return machine_kernel_at_least(machine, 6, 8);
}

int vmstat_spared_cpus(const struct system *sys, struct cpumask *cpus, struct error *err)
{
	/* Only the true root of cgroup v2 has the file. These are its usual places, alone and next
	 * to v1; finding an unusual one out would cost a launch more than all the rest. */
	static const char *const files[] = { "/sys/fs/cgroup/cpuset.cpus.isolated",
		                             "/sys/fs/cgroup/unified/cpuset.cpus.isolated" };
	const struct machine *m = &sys->machine;
	int rc = 0;

	if (vmstat_spares_boot_isolated(m)) {
		cpumask_or(cpus, &m->isolated);
		cpumask_or(cpus, &m->nohz_full);
	}
	for (size_t i = 0; !rc && vmstat_spares_partitions(m) && i < ARRAY_SIZE(files); i++) {
		_cleanup_cpumask_ struct cpumask partitions = CPUMASK_INIT;

		rc = cgroup_read_cpus(sys, files[i], &partitions, err);
		cpumask_or(cpus, &partitions);
	}
	return rc;
}
