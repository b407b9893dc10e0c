/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One look at a plan for all its readers here (report, dry-run, check): knobs and task settings
 * alike are settings, that were asked for, granted and observed. Everything is borrowed from the
 * plan.
 */
#ifndef CHISOL_SETTING_H
#define CHISOL_SETTING_H

#include "../isolcore/plan.h"

struct setting {
	const struct knob *knob;         /* NULL: a task setting */
	const struct task_setting *task; /* NULL: a knob */

	const char *name, *facility, *why;
	const char *origin; /* who asked for it, or NULL */
	const char *path;   /* NULL: a setting of the process */
	enum policy policy;
	const char *asked, *found;
	enum knob_state state;
	const char *granted;
	enum knob_observed observed_state;
	const char *observed;
	enum knob_restored restored;
	const char *restore_detail;
	const char *reason, *detail, *remedy;
};

size_t setting_count(const struct plan *plan);
/* The i-th: first the knobs, then the task settings, each in the order in which they are made. */
struct setting setting_at(const struct plan *plan, size_t i);

#define setting_for_each(s, plan)                                                          \
	for (size_t i_##s = 0, n_##s = setting_count(plan); i_##s < n_##s; i_##s++)        \
		for (struct setting s = setting_at(plan, i_##s), *once_##s = &s; once_##s; \
		     once_##s = NULL)

/* NULL for NULL. */
const char *setting_facility_name(const struct facility *facility);
const char *setting_policy_name(enum policy policy);
/* Will chisol write it? Not what is already as asked, exposed or unavailable. */
bool setting_is_to_do(const struct setting *s);
const char *setting_observed_name(enum knob_observed observed);
/* A value for people: "(none)" for NULL, "(empty)" for "". */
const char *setting_value(const char *value);
/* The meaning of a reason code, from reason_table; "" for NULL and codes that are not in it. */
const char *setting_reason_meaning(const char *reason);
/* Is it one of the reasons that say how vmstat quiescing was met? */
bool setting_reason_is_way(const char *reason);

struct setting_tally {
	size_t asked;
	size_t state[KNOB_UNAVAILABLE + 1];
	size_t drifted; /* with interrupts that appeared during the run */
	size_t restored[RESTORE_FAILED + 1];
};

struct setting_tally setting_tally(const struct plan *plan);
/*
 * "drifted": something changed during the run; otherwise "not-granted": something was refused, is
 * unavailable or was never tried; otherwise "kept". Pending and exposed ones count as granted, as
 * they do for POLICY_REQUIRE.
 */
const char *setting_verdict(const struct setting_tally *tally);

/*
 * Settings that differ in the number in their name and in little else: "irq.30.affinity" and
 * "irq.31.affinity" become "irq.{30-31}.affinity".
 */
struct setting_group {
	struct setting
		first; /* asked, found, granted, observed, detail: NULL where members differ */
	size_t n;
	struct cpumask numbers; /* empty: the name has no number */
};

struct setting_groups {
	struct setting_group *groups;
	size_t n, room;
};
#define SETTING_GROUPS_INIT \
	{                   \
		NULL, 0, 0  \
	}

/* Appends the setting: to a group that it fits, or as one of its own. */
void setting_groups_add(struct setting_groups *groups, const struct setting *s, bool fold);
void setting_groups_free(struct setting_groups *groups);
#define _cleanup_setting_groups_ _cleanup_(setting_groups_free)
/* "irq.{30-41}.affinity (12)", or the name of the only member. The caller frees it. */
char *setting_group_name(const struct setting_group *group);

#endif
