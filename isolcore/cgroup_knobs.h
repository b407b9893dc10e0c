/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a run makes and changes in the cgroup tree, as knobs (its tasks: cgroup_tasks.h).
 *
 * The run's groups carry CGROUP_RUN_PREFIX and the run's id in their path. No group without them is
 * ever removed.
 */
#ifndef ISOLCORE_CGROUP_KNOBS_H
#define ISOLCORE_CGROUP_KNOBS_H

#include "knob.h"

#define CGROUP_RUN_PREFIX "chisol-"
#define CGROUP_PRESENT    "group" /* the value of "cgroup-dir" */

/* Is it a group of a run, of which chisol made all that is in it? */
bool cgroup_is_of_run(const char *path);

/*
 * "cgroup-dir": a group of the run, found as nothing. Putting that back moves what is in it to the
 * group above and removes it.
 */
extern const struct knob_type knob_cgroup_dir;

/* "cpuset-cpus": a list of CPUs or nodes in a group, with the kernel's refusals explained. */
extern const struct knob_type knob_cpuset_cpus;

/*
 * "cpuset-balance": sched_load_balance of a group above the run's (v1). It is not turned off as
 * long as no group below keeps it on for some CPUs, or nobody's tasks would be balanced any more.
 */
extern const struct knob_type knob_cpuset_balance;

/*
 * "cpuset-partition": cpuset.cpus.partition of a group of the run. A write that succeeds says
 * nothing: the value read back may be "isolated invalid (reason)". Before it takes CPUs it looks
 * whether any are left: Linux 6.1 and 6.12 crash otherwise. Putting "member" back waits until the
 * CPUs are seen in the group above.
 */
extern const struct knob_type knob_cpuset_partition;

/*
 * "cgroup-controller": cpuset in a cgroup.subtree_control: "+cpuset" or "-cpuset". In use by a
 * group that is not chisol's it reads as "+cpuset, used by GROUP", so that it is left on.
 */
extern const struct knob_type knob_cgroup_controller;
#define CONTROLLER_ON  "+cpuset"
#define CONTROLLER_OFF "-cpuset"

/* "cgroup-type": threaded or not: a new group beside a threaded one is a "domain invalid". */
extern const struct knob_type knob_cgroup_type;

#endif
