/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A shell command that chisol runs beside the command of the run: in a process group of its own, on
 * the housekeeping CPUs, without standard input, and with standard output going to standard error,
 * as the other is the command's. If chisol is killed its shell is sent SIGTERM.
 */
#ifndef CHISOL_SIDE_H
#define CHISOL_SIDE_H

#include "../isolcore/cpumask.h"

#include <sys/types.h>

struct side {
	pid_t pid; /* its shell and process group; 0: it does not run */
};

/* cpus: empty: where chisol may run. prepare: called in its process, before the shell; or NULL.
 * -errno: there is no process to be had. */
int side_start(struct side *side, const char *text, const struct cpumask *cpus,
               void (*prepare)(void *ctx), void *ctx);
/* Has it ended, within so many ms? Until side_reap() the number of its group is nobody else's. */
bool side_wait(const struct side *side, unsigned int ms);
/* Once it has ended: the status, as from waitpid(2). */
int side_reap(struct side *side);
/* Ends it with all of its group: SIGTERM, and SIGKILL a second later. */
void side_end(struct side *side);

#endif
