/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who a process is. A number alone is not enough, as numbers are used again: the start time (field
 * 22 of /proc/PID/stat, clock ticks since boot, proc_pid_stat(5)) tells two users of one apart.
 */
#ifndef ISOLCORE_PROCESS_H
#define ISOLCORE_PROCESS_H

#include "machine.h"

struct process {
	pid_t pid;
	unsigned long long start_time;
	char state; /* 'R', 'S', ... 'Z': a zombie, which runs no more */
};

/* -ENOENT or -ESRCH: there is no such process (any more). pid may also be a thread's. */
int process_read(struct process *process, const struct sysroot *root, pid_t pid, struct error *err);
/* The calling process, from /proc of the live machine. */
int process_self(struct process *process, struct error *err);
/* Is the process that was read before still there, and not a zombie? Trouble in telling (a /proc
 * that cannot be read) counts as yes. */
bool process_alive(const struct sysroot *root, pid_t pid, unsigned long long start_time);

#endif
