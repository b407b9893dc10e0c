/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the planning of a run's groups shares between cgroup v1 and v2. Included by cgroup*.c only.
 */
#ifndef ISOLCORE_CGROUP_PLAN_H
#define ISOLCORE_CGROUP_PLAN_H

#include "cgroup_knobs.h"
#include "cgroup_tasks.h"
#include "cgroup_world.h"
#include "facility.h"
#include "task_affinity.h"

struct cgroup_planner {
	struct plan *plan;
	const struct system *sys;
	const struct request *req;
	const struct cgroup_world *world;
	enum partition partition; /* settled, not PARTITION_AUTO */
	char *parent;             /* the group that the run's group is made in */
	char *run;                /* the run's group */
	bool delegated;           /* v2: parent is what of the tree belongs to the caller */
};

int cgroup_plan_v1(const struct cgroup_planner *p, struct error *err);
int cgroup_plan_v2(const struct cgroup_planner *p, struct error *err);

/* Adds the knob of a file of a group of the run (file: with prefix). */
struct knob *cgroup_add(const struct cgroup_planner *p, const struct knob_type *type,
                        const char *group, const char *file, const char *found, const char *wanted,
                        const char *why);
/* Adds a group of the run (name "" is the run's group itself). Returns its path, to be freed. */
char *cgroup_add_group(const struct cgroup_planner *p, const char *name, const char *why);
/* Adds the run's group as something that cannot be had. */
void cgroup_refuse(const struct cgroup_planner *p, const char *reason, const char *remedy,
                   const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Has the command join start (threaded: by way of the run's group). help: NULL for none. */
void cgroup_set_groups(const struct cgroup_planner *p, const char *start, const char *help,
                       bool threaded);
/* Records the masks of a group's tasks (file: its task list) that are not the full one, where the
 * kernel will not give them back. */
void cgroup_add_masks(const struct cgroup_planner *p, const char *file, const struct cpumask *full,
                      const struct cpumask *reduced, bool kernel_threads);

#endif
