/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moving tasks between groups, and the two knobs about it.
 *
 * A move makes a task's mask what the new group has. Since Linux 6.2 the mask that the task itself
 * asked for is kept beside it and comes back with the next move (da019032819a); before, it is lost,
 * so a narrower mask is set again here, as far as the new group has its CPUs.
 */
#ifndef ISOLCORE_CGROUP_TASKS_H
#define ISOLCORE_CGROUP_TASKS_H

#include "knob.h"

/* The values of "cgroup-evict". */
#define EVICT_MOVED    "moved"
#define EVICT_IN_PLACE "in place"

/*
 * "cgroup-evict" (v1): the path is a group in the run's group. EVICT_MOVED: the tasks of the group
 * that the run's group is in are in it, kernel threads excepted. EVICT_IN_PLACE: it is empty;
 * writing that moves back what is in it, those that were born there included; or to the like set of
 * another run that is still there, which keeps them off its own CPUs.
 */
extern const struct knob_type knob_cgroup_evict;

/*
 * "task-mask": the mask of a task (path as "task-affinity") that the kernel changes on its own when
 * the run moves the task or takes CPUs away, and does not give back: any that is not all of the
 * group's before Linux 6.12, and since then those that the task did not ask for itself, such as all
 * but isolcpus=, which tasks have from boot, or all but nohz_full=, which kernel threads have.
 * wanted is what the kernel may make of it, as lists with "|" between them; only found is ever
 * written.
 */
extern const struct knob_type knob_task_mask;
bool cgroup_masks_get_lost(const struct machine *m);

/* The numbers in a file such as tasks or cgroup.procs. The caller frees them. */
int cgroup_list_tasks(const struct system *sys, const char *path, pid_t **tids, size_t *n,
                      struct error *err);

/* Moves what is in one group to another until nothing more moves. file: "tasks", "cgroup.procs" or
 * "cgroup.threads". Tasks that end meanwhile and kernel threads that are bound to their group are
 * passed over. */
int cgroup_move_tasks(const struct system *sys, const char *from, const char *to, const char *file,
                      bool with_kernel_threads, struct error *err);

#endif
