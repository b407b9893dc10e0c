/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is seen of a run while the command runs, from a housekeeping CPU: what hit the workload's
 * CPUs between start and end, settings that drift, new interrupts, and what the command's own
 * process looks like at its end; and, with the probe, what broke the isolation.
 */
#ifndef CHISOL_WATCH_H
#define CHISOL_WATCH_H

#include "launch.h"
#include "probe.h"
#include "../isolcore/interrupts.h"

struct watch {
	const struct system *sys;
	const struct request *req;
	struct plan *plan;
	struct interrupt_table before, during; /* during: the increase, after LAUNCH_ENDED */
	struct probe *probe;
	struct namelist warnings;
};

/* A launch_watch_fn. */
unsigned int watch_run(void *ctx, enum launch_event event, pid_t pid);
/* Its counterpart in the command's process, see struct launch_hooks. */
void watch_before_exec(void *ctx, const char *name);
void watch_free(struct watch *watch);
#define _cleanup_watch_ _cleanup_(watch_free)

#endif
