/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who a process is. A number alone is not enough, as numbers are used again: the start time (field
 * 22 of /proc/PID/stat, clock ticks since boot, proc_pid_stat(5)) tells two users of one apart.
 */
#ifndef ISOLCORE_PROCESS_H
#define ISOLCORE_PROCESS_H

#include "machine.h"

struct process {
	pid_t pid, parent;
	unsigned long long start_time;
	unsigned long flags; /* PROCESS_ flags below */
	char state;          /* 'R', 'S', ... 'Z': a zombie, which runs no more */
	char comm[64];       /* the size of proc_task_name()'s buffer, fs/proc/array.c */
};

#define PROCESS_KTHREAD        0x00200000ul /* PF_KTHREAD, include/linux/sched.h */
#define PROCESS_NO_SETAFFINITY 0x04000000ul /* PF_NO_SETAFFINITY: bound to its CPUs */

/* -ENOENT or -ESRCH: there is no such process (any more). pid may also be a thread's. */
int process_read(struct process *process, const struct sysroot *root, pid_t pid, struct error *err);
/* The calling process, from /proc of the live machine. */
int process_self(struct process *process, struct error *err);
/* Is the process that was read before still there, and not a zombie? Trouble in telling (a /proc
 * that cannot be read) counts as yes. */
bool process_alive(const struct sysroot *root, pid_t pid, unsigned long long start_time);

struct pids {
	pid_t *pids;
	size_t n, room;
};

/* The processes whose command (/proc/PID/comm) matches a pattern (fnmatch(3)), in ascending order.
 */
int process_find(struct pids *pids, const struct sysroot *root, const char *pattern,
                 struct error *err);
void pids_free(struct pids *pids);
#define _cleanup_pids_ _cleanup_(pids_free)

#endif
