/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A task setting belongs to the command's process and needs no undo: it ends with the process. The
 * child makes them between fork and exec (or chisol itself, when it execs in place), in the order
 * of their stages, and reads each back.
 *
 * apply() runs single-threaded in the process that will exec. It may allocate.
 */
#ifndef ISOLCORE_TASK_H
#define ISOLCORE_TASK_H

#include "knob.h"

/*
 * The order matters: a cgroup is joined before the mask is set, because joining changes the mask
 * and because since Linux 6.2 an inherited mask survives the join; privileges are dropped after
 * everything that may need them; task isolation, which needs none, comes last, as each further
 * system call would have its quiescing done again.
 */
enum task_stage {
	TASK_STAGE_FLUSH, /* while still in no group of the run */
	TASK_STAGE_CGROUP,
	TASK_STAGE_AFFINITY_RESET,
	TASK_STAGE_AFFINITY,
	TASK_STAGE_PRIVILEGES,
	TASK_STAGE_ISOLATION,
};

struct task_setting;

struct task_op {
	enum task_stage stage;
	/*
	 * Makes the setting in the calling process and reads it back into t->granted; sets state,
	 * reason and detail (knob_state values). Returns 0 if granted, otherwise -errno with a
	 * sentence; the caller goes on when the policy is POLICY_TRY.
	 */
	int (*apply)(const struct system *sys, struct task_setting *t, struct error *err);
	/* Optional: would apply() be refused for lack of a privilege? 0, or -errno with a sentence
	 * that names it. Asked before anything is written, by plan_preflight(). */
	int (*permitted)(const struct system *sys, const struct task_setting *t, struct error *err);
	/* Optional: reads the setting of another process, which may be a zombie. -errno: cannot. */
	int (*observe)(const struct system *sys, const struct task_setting *t, pid_t pid,
	               char **value);
	const char *drift_remedy;      /* optional: what to do about a command that changes it */
	void (*free_data)(void *data); /* optional */
	/* Optional: prints sh lines that make the setting for the shell itself ($$), which then
	 * execs the command; for --dry-run=sh. NULL: sh cannot, and a comment says so. */
	void (*shell)(FILE *out, const struct task_setting *t);
};

struct task_setting {
	const struct task_op *op;
	const struct facility *facility;
	char *name; /* "cpus.affinity" */
	char *wanted;
	const char *why;
	const char *origin; /* as a knob's */
	enum policy policy;
	void *data; /* the facility's own */

	enum knob_state state;
	const char *reason;
	char *detail;
	char *granted;
	enum knob_observed observed_state;
	char *observed;
};

void task_judge(struct task_setting *t, enum knob_state state, const char *reason, const char *fmt,
                ...) __attribute__((format(printf, 4, 5)));
void task_free(struct task_setting *t); /* plan_free() calls it */

#endif
