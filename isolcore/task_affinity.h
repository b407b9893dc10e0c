/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPU mask of somebody else's thread as a knob: an interrupt's thread that follows its
 * interrupt, a task that is moved off the workload's CPUs.
 *
 * The knob's path is "TID/STARTTIME" (field 22 of /proc/TID/stat), because a number alone may be
 * another thread's by the time of restore; a thread that has ended reads as -ENOENT. Its value is
 * the list of its CPUs that are online.
 */
#ifndef ISOLCORE_TASK_AFFINITY_H
#define ISOLCORE_TASK_AFFINITY_H

#include "knob.h"

/* What of /proc/TID/stat tells one thread from another (proc_pid_stat(5)). */
struct task_stat {
	char *comm;                    /* at most 63 bytes for a kernel thread, 15 otherwise */
	unsigned long flags;           /* field 9, TASK_ flags below */
	unsigned long long start_time; /* field 22, clock ticks since boot */
};

#define TASK_KTHREAD        0x00200000ul /* PF_KTHREAD, include/linux/sched.h */
#define TASK_NO_SETAFFINITY 0x04000000ul /* PF_NO_SETAFFINITY */

/* -ENOENT: there is no such thread (any more). */
int task_stat_read(struct task_stat *stat, const struct system *sys, pid_t tid, struct error *err);
void task_stat_free(struct task_stat *stat);
#define _cleanup_task_stat_ _cleanup_(task_stat_free)

/* The CPUs of a thread that are online. -ENOENT as above. */
int task_affinity_read(struct cpumask *cpus, const struct system *sys, pid_t tid,
                       struct error *err);

/* The path of the knob; the caller frees it. */
char *task_affinity_path(pid_t tid, unsigned long long start_time);

extern const struct knob_type knob_task_affinity; /* "task-affinity" */

#endif
