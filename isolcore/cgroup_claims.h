/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which groups of a cgroup tree claim which CPUs, as seen from a run's own group (which need not
 * exist yet). Reads only.
 */
#ifndef ISOLCORE_CGROUP_CLAIMS_H
#define ISOLCORE_CGROUP_CLAIMS_H

#include "machine.h"

/*
 * The groups that claim any of the CPUs, as "GROUP (CPUs 2-3), ..."; NULL: none. The run's group
 * and the groups above it do not count. On v1 claiming is to balance load over CPUs, or to have
 * them exclusively, other than in the sets of other runs that a run takes its CPUs from; on v2 to
 * be a partition, to have them exclusively, to have no others, and before Linux 6.7, where siblings
 * must not share with a partition, to list them at all.
 */
char *cgroup_claims(const struct system *sys, const char *run_group, const struct cpumask *cpus);

/* The CPUs that are online and in no isolation, neither from boot nor by a partition, once the cpus
 * are taken, too. Empty: they must not be taken, as Linux 6.1 and 6.12 crash then. */
int cgroup_cpus_left(struct cpumask *left, const struct system *sys, const char *run_group,
                     const struct cpumask *cpus, struct error *err);

/* The groups of other runs beside the run's, as paths. */
int cgroup_list_runs(const struct system *sys, const char *run_group, struct namelist *runs);

/* The CPUs that the tasks of a group may have, of either version; empty if that cannot be told. */
void cgroup_effective(struct cpumask *cpus, const struct system *sys, const char *group);
/* The same of the nearest group from this one up to the mount of which it can be told: on v2 a
 * group without the controller has the CPUs of the one above. */
void cgroup_effective_above(struct cpumask *cpus, const struct system *sys, const char *group,
                            const char *mount);

/* The topmost group that is visible above the run's. */
char *cgroup_top(const struct system *sys, const char *run_group);

/* The group that a path is in: all but its last part. */
char *cgroup_parent(const char *path);

#endif
