/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A facility is one thing of the kernel that a profile section asks about: it looks at the request
 * and appends knobs, task settings and notes to the plan. To add one: copy vmstat.c, add a row to
 * the table in facility.c (its place there is the order of effects), its section to struct request
 * (request.h), and a row for each key to profile_keys.c.
 */
#ifndef ISOLCORE_FACILITY_H
#define ISOLCORE_FACILITY_H

#include "plan.h"

struct facility {
	const char *name;    /* the profile section, and the first word of its knobs' names */
	const char *section; /* the profile section, if it is another one; NULL: it is the name */
	const char *title;
	/* Appends to the plan. Changes nothing. An error means that the request makes no sense on
	 * this machine; what the machine merely does not grant is a knob's or note's state. */
	int (*plan)(struct plan *plan, const struct system *sys, const struct request *req,
	            const char *run_id, struct error *err);
};

extern const struct facility facility_affinity; /* -c: the mask of the command itself */
extern const struct facility facility_cgroup;
extern const struct facility facility_irq;
extern const struct facility facility_irqbalance;
extern const struct facility facility_kthreads;
extern const struct facility facility_scheduler;
extern const struct facility facility_task_isolation;
extern const struct facility facility_vmstat;
extern const struct facility facility_user;

/* In the order in which their knobs are applied; restored in reverse. Ends with NULL. */
extern const struct facility *const facility_table[];

#endif
