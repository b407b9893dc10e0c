/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU mask of somebody else's thread as a knob: an interrupt's thread that follows its
 * interrupt, a task that is moved off the workload's CPUs.
 *
 * The knob's path is "/proc/TID/STARTTIME" (process.h), because a number alone may be another
 * thread's by the time of restore; a thread that has ended reads as -ENOENT. Its value is the list
 * of its CPUs that are online.
 */
#ifndef ISOLCORE_TASK_AFFINITY_H
#define ISOLCORE_TASK_AFFINITY_H

#include "knob.h"
#include "process.h"

/* The CPUs of a thread that are online. -ENOENT: it has ended. */
int task_affinity_read(struct cpumask *cpus, const struct system *sys, pid_t tid,
                       struct error *err);

/* The path of the knob; the caller frees it. */
char *task_affinity_path(const struct process *thread);

extern const struct knob_type knob_task_affinity; /* "task-affinity" */

#endif
