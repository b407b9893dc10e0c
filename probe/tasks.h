/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads of the command and of all that descend from it, by number, in a bit each: numbers end
 * at 4,194,304 (PID_MAX_LIMIT, include/linux/threads.h). */
#ifndef PROBE_TASKS_H
#define PROBE_TASKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "../isolcore/cpumask.h"

struct tasks {
	unsigned long *words;
	size_t n, room;
	pid_t first; /* the command itself, whose parent is not of the command */
};

bool tasks_has(const struct tasks *tasks, pid_t tid);
/* Numbers that no thread has are passed over. */
void tasks_add(struct tasks *tasks, pid_t tid);
/* A new thread belongs to the command if its parent does; a number may have been another's. */
void tasks_forked(struct tasks *tasks, pid_t parent, pid_t child);
void tasks_free(struct tasks *tasks);

#endif
