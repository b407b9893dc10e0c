/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan: knobs in the order in which they are applied, task settings in the order in which the
 * child makes them, and notes. Made by the facilities from a request; apply, verify, dry-run,
 * check and report are readings of it. The engine knows nothing of what a knob means.
 */
#ifndef ISOLCORE_PLAN_H
#define ISOLCORE_PLAN_H

#include "knob.h"
#include "task.h"

/* Something to tell that is not a setting: a warning, or why a facility plans nothing. */
struct note {
	const struct facility *facility;
	const char *reason; /* REASON_ */
	char *text;
};

struct plan {
	struct knob **knobs;
	size_t n_knobs, knobs_room;
	struct task_setting **tasks; /* sorted by stage */
	size_t n_tasks, tasks_room;
	struct note **notes;
	size_t n_notes, notes_room;
	char *hot_group;  /* path of the cgroup that the command starts in; NULL: it stays */
	char *help_group; /* path of the cgroup for helper threads; NULL: none */
};

#define PLAN_INIT \
	{         \
		0 \
	}

#define plan_for_each(knob, plan)                                         \
	for (size_t i_##knob = 0; i_##knob < (plan)->n_knobs; i_##knob++) \
		for (struct knob *knob = (plan)->knobs[i_##knob]; knob; knob = NULL)

void plan_free(struct plan *plan);
#define _cleanup_plan_ _cleanup_(plan_free)

/* Facilities append; name and path are copied, found and wanted too (NULL allowed). */
struct knob *plan_add(struct plan *plan, const struct facility *facility,
                      const struct knob_type *type, enum policy policy, const char *name,
                      const char *path, const char *found, const char *wanted, const char *why);
/* The same, with found read now; a failed read makes the knob KNOB_UNAVAILABLE or KNOB_REFUSED. */
struct knob *plan_add_read(struct plan *plan, const struct system *sys,
                           const struct facility *facility, const struct knob_type *type,
                           enum policy policy, const char *name, const char *path,
                           const char *wanted, const char *why);
struct task_setting *plan_add_task(struct plan *plan, const struct facility *facility,
                                   const struct task_op *op, enum policy policy, const char *name,
                                   const char *wanted, const char *why);
void plan_note(struct plan *plan, const struct facility *facility, const char *reason,
               const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/*
 * Asks every facility, in the order of the facility table. Reads the system, changes nothing.
 * run_id names what the run will create ("chisol-RUN_ID"). An error (a request that cannot be
 * planned at all) leaves the plan to be freed.
 */
int plan_build(struct plan *plan, const struct system *sys, const struct request *req,
               const char *run_id, struct error *err);

struct journal;

/*
 * Writes what is wanted, knob by knob, and reads each back. The journal (NULL only in tests) must
 * hold the plan already: journal_create() does that. Returns 0 if every knob under POLICY_REQUIRE
 * was granted (pending and exposed count as granted); otherwise -errno with the sentence of the
 * first that was not, and the caller restores.
 */
int plan_apply(struct plan *plan, const struct system *sys, struct journal *journal,
               struct error *err);
/*
 * In place of plan_apply() where nothing of the machine may be written, for the reason given: what
 * is tried is refused by it, unless it is found as wanted; -errno with that sentence if anything
 * that is required would have to be held.
 */
int plan_refuse(struct plan *plan, const struct error *why, struct error *err);
/* Reads every granted or pending knob again into observed and observed_state; while the command is
 * running, all but those that are slow to read. Returns the number of knobs that are found drifted
 * by this look for the first time. */
size_t plan_observe(struct plan *plan, const struct system *sys, bool running);
/* Takes down what became of a knob at the end, from a restore_outcome_fn (restore.h). */
void plan_restored(struct plan *plan, unsigned int seq, enum knob_restored restored,
                   const char *detail);
/* Will plan_apply() write this knob, if it is not already as wanted? */
bool knob_is_planned(const struct knob *knob);
/*
 * Does the plan hold anything of the machine? A value that is found as wanted counts: another run
 * may hold it too, and must not put it back while this one needs it.
 */
bool plan_changes_system(const struct plan *plan);

#endif
