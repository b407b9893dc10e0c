/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "facility.h"
#include "journal.h"

#include <errno.h>

struct knob *plan_add(struct plan *plan, const struct facility *facility,
                      const struct knob_type *type, enum policy policy, const char *name,
                      const char *path, const char *found, const char *wanted, const char *why)
{
	struct knob *knob = xcalloc(1, sizeof(*knob));

	*knob = (struct knob){
		.type = type,
		.facility = facility,
		.name = xstrdup(name),
		.path = xstrdup(path),
		.found = found ? xstrdup(found) : NULL,
		.wanted = wanted ? xstrdup(wanted) : NULL,
		.why = why,
		.policy = policy,
		.seq = (unsigned int)plan->n_knobs,
	};
	plan->knobs =
		xgrow(plan->knobs, plan->n_knobs + 1, &plan->knobs_room, sizeof(*plan->knobs));
	plan->knobs[plan->n_knobs++] = knob;
	return knob;
}

/* The value that was found or planned for cannot be read (any more). */
static void judge_unread(struct knob *knob, const struct error *why)
{
	bool absent = errno_is_absent(why->err);

	knob_judge(knob, absent ? KNOB_UNAVAILABLE : KNOB_REFUSED,
	           absent ? REASON_ABSENT : REASON_UNREADABLE, "%s", why->text);
}

struct knob *plan_add_read(struct plan *plan, const struct system *sys,
                           const struct facility *facility, const struct knob_type *type,
                           enum policy policy, const char *name, const char *path,
                           const char *wanted, const char *why)
{
	_cleanup_error_ struct error error = ERROR_INIT;
	_cleanup_free_ char *found = NULL;
	int rc = type->read(sys, path, &found, &error);
	struct knob *knob = plan_add(plan, facility, type, policy, name, path, found, wanted, why);

	if (rc)
		judge_unread(knob, &error);
	return knob;
}

struct task_setting *plan_add_task(struct plan *plan, const struct facility *facility,
                                   const struct task_op *op, enum policy policy, const char *name,
                                   const char *wanted, const char *why)
{
	struct task_setting *task = xcalloc(1, sizeof(*task));
	size_t at = plan->n_tasks;

	*task = (struct task_setting){
		.op = op,
		.facility = facility,
		.name = xstrdup(name),
		.wanted = wanted ? xstrdup(wanted) : NULL,
		.why = why,
		.policy = policy,
	};
	plan->tasks = xgrow(plan->tasks, plan->n_tasks + 1, &plan->tasks_room,
	                    sizeof(struct task_setting *));
	for (; at > 0 && plan->tasks[at - 1]->op->stage > op->stage; at--)
		plan->tasks[at] = plan->tasks[at - 1];
	plan->tasks[at] = task;
	plan->n_tasks++;
	return task;
}

void plan_note(struct plan *plan, const struct facility *facility, const char *reason,
               const char *fmt, ...)
{
	struct note *note = xcalloc(1, sizeof(*note));
	va_list ap;

	note->facility = facility;
	note->reason = reason;
	va_start(ap, fmt);
	note->text = xvasprintf(fmt, ap);
	va_end(ap);
	plan->notes =
		xgrow(plan->notes, plan->n_notes + 1, &plan->notes_room, sizeof(*plan->notes));
	plan->notes[plan->n_notes++] = note;
}

void plan_free(struct plan *plan)
{
	for (size_t i = 0; i < plan->n_knobs; i++)
		knob_free(plan->knobs[i]);
	for (size_t i = 0; i < plan->n_tasks; i++)
		task_free(plan->tasks[i]);
	for (size_t i = 0; i < plan->n_notes; i++) {
		free(plan->notes[i]->text);
		free(plan->notes[i]);
	}
	free(plan->knobs);
	free(plan->tasks);
	free(plan->notes);
	free(plan->hot_group);
	free(plan->help_group);
	*plan = (struct plan)PLAN_INIT;
}

/* Who asked for what the facility has just planned: for a setting that is called like a key, who
 * gave that key, and for all others who asked for the section. */
static void add_origins(struct plan *plan, const struct facility *facility, size_t before,
                        const struct request *req)
{
	const char *section = facility->section ? facility->section : facility->name;
	const char *origin = request_section_origin(req, section);

	for (size_t i = before; i < plan->n_knobs; i++) {
		const char *named = request_origin(req, plan->knobs[i]->name);

		plan->knobs[i]->origin = named ? named : origin;
	}
	for (size_t i = 0; i < plan->n_tasks; i++) {
		const char *named = request_origin(req, plan->tasks[i]->name);

		if (plan->tasks[i]->facility == facility)
			plan->tasks[i]->origin = named ? named : origin;
	}
}

int plan_build(struct plan *plan, const struct system *sys, const struct request *req,
               const char *run_id, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && facility_table[i]; i++) {
		size_t before = plan->n_knobs;

		rc = facility_table[i]->plan(plan, sys, req, run_id, err);
		add_origins(plan, facility_table[i], before, req);
	}
	return rc;
}

bool knob_is_planned(const struct knob *knob)
{
	return knob->wanted && knob->state == KNOB_PLANNED;
}

bool plan_changes_system(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_knobs; i++)
		if (knob_is_planned(plan->knobs[i]))
			return true;
	return false;
}

static void judge_write(struct knob *knob, const struct error *write_error,
                        const struct error *read_error)
{
	if (knob->granted && knob_same(knob->type, knob->granted, knob->wanted))
		knob_judge(knob, KNOB_GRANTED, REASON_GRANTED, NULL);
	else if (write_error->err)
		knob_judge(knob,
		           errno_is_absent(write_error->err) ? KNOB_UNAVAILABLE : KNOB_REFUSED,
		           reason_of_errno(write_error->err), "%s", write_error->text);
	else if (!knob->granted)
		knob_judge(knob, KNOB_REFUSED, REASON_UNREADABLE, "%s", read_error->text);
	else
		knob_judge(knob, KNOB_REFUSED, REASON_READ_BACK_DIFFERS,
		           "\"%s\" was written to %s, and it reads \"%s\"", knob->wanted,
		           knob->path, knob->granted);
}

/*
 * What the knob is right before the write is what has to be put back, so the journal must say so
 * before the write. found of a knob in something that an earlier knob made was foretold and stays.
 * Returns an error only if the journal cannot be kept.
 */
static int look_again(struct knob *knob, const struct system *sys, struct journal *journal,
                      struct error *err)
{
	_cleanup_error_ struct error error = ERROR_INIT;
	_cleanup_free_ char *now = NULL;
	int rc = knob->type->read(sys, knob->path, &now, &error);

	if (!rc && knob_same(knob->type, now, knob->wanted)) {
		xreplace(&knob->granted, now);
		knob_judge(knob, KNOB_GRANTED, REASON_ALREADY, NULL);
	}
	if (knob->fresh)
		return 0;
	if (rc && knob->found) {
		judge_unread(knob, &error);
		if (errno_is_absent(-rc) && knob->type->judge)
			knob->type->judge(sys, knob, &error);
		return 0;
	}
	if (knob_same(knob->type, now, knob->found))
		return 0;
	xreplace(&knob->found, now);
	if (!journal)
		return 0;
	rc = journal_amend_found(journal, knob->seq, now, err);
	return rc ? rc : journal_sync(journal, err);
}

/* A run above this one must know whether this one changed the knob, and restoring what it made. */
static int record_left(const struct knob *knob, const char *left, struct journal *journal,
                       struct error *err)
{
	int rc;

	if (!journal || !left || knob_same(knob->type, left, knob->wanted))
		return 0;
	rc = journal_amend_left(journal, knob->seq, left, err);
	return rc ? rc : journal_sync(journal, err);
}

/* Returns an error only if the journal cannot be kept; else the outcome is in the knob. *why is
 * the errno of a write that failed. */
static int apply_knob(struct knob *knob, const struct system *sys, struct journal *journal,
                      int *why, struct error *err)
{
	_cleanup_error_ struct error write_error = ERROR_INIT, read_error = ERROR_INIT;
	int rc = look_again(knob, sys, journal, err);

	if (rc)
		return rc;
	if (knob->granted && knob->type->judge)
		knob->type->judge(sys, knob, &write_error);
	if (knob->state != KNOB_PLANNED)
		return record_left(knob, knob->found, journal, err);
	rc = journal ? journal_note_begun(journal, knob->seq, err) : 0;
	if (rc)
		return rc;
	knob->type->write(sys, knob->path, knob->wanted, &write_error);
	*why = write_error.err;
	knob->type->read(sys, knob->path, &knob->granted, &read_error);
	judge_write(knob, &write_error, &read_error);
	if (knob->type->judge)
		knob->type->judge(sys, knob, &write_error);
	return record_left(knob, knob->granted, journal, err);
}

/* What was to be in something that could not be made, or not opened, is refused for the same
 * reason. */
static bool inherit_refusal(const struct plan *plan, struct knob *knob)
{
	for (size_t i = 0; knob->fresh && i < knob->seq; i++) {
		const struct knob *above = plan->knobs[i];
		size_t n = above->opens ? (size_t)(strrchr(above->path, '/') - above->path)
		                        : strlen(above->path);

		if ((above->granted && !above->opens) || strncmp(above->path, knob->path, n) ||
		    (knob->path[n] && knob->path[n] != '/') ||
		    (above->state != KNOB_REFUSED && above->state != KNOB_UNAVAILABLE))
			continue;
		knob_judge(knob, above->state, above->reason, "%s",
		           above->detail ? above->detail : "");
		return true;
	}
	return false;
}

static int check_required(const struct knob *knob, int why, struct error *err)
{
	int rc;

	if (knob->policy != POLICY_REQUIRE ||
	    (knob->state != KNOB_REFUSED && knob->state != KNOB_UNAVAILABLE))
		return 0;
	rc = error_set(err, why ? why : ENOTSUP, "%s (%s) is required and not granted: %s%s%s",
	               knob->name, knob->path, knob->detail ? knob->detail : knob->reason,
	               knob->remedy ? "; " : "", knob->remedy ? knob->remedy : "");
	if (err)
		err->reason = knob->reason;
	return rc;
}

/* A task setting is made, and judged, by the child; this only spares all the rest. */
static int check_task(const struct task_setting *t, struct error *err)
{
	int rc;

	if (t->policy != POLICY_REQUIRE || t->state != KNOB_UNAVAILABLE)
		return 0;
	rc = error_set(err, ENOTSUP, "%s is required and not available: %s", t->name,
	               t->detail ? t->detail : t->reason);
	if (err)
		err->reason = t->reason;
	return rc;
}

int plan_apply(struct plan *plan, const struct system *sys, struct journal *journal,
               struct error *err)
{
	int rc = 0;

	/* What is known to be missing ends the launch before anything is touched. */
	for (size_t i = 0; !rc && i < plan->n_knobs; i++)
		rc = check_required(plan->knobs[i], 0, err);
	for (size_t i = 0; !rc && i < plan->n_tasks; i++)
		rc = check_task(plan->tasks[i], err);
	for (size_t i = 0; !rc && i < plan->n_knobs; i++) {
		struct knob *knob = plan->knobs[i];
		int why = 0;

		if (!knob_is_planned(knob) || inherit_refusal(plan, knob))
			continue;
		rc = apply_knob(knob, sys, journal, &why, err);
		if (!rc)
			rc = check_required(knob, why, err);
	}
	return rc || !journal ? rc : journal_note_ended(journal, err);
}

int plan_refuse(struct plan *plan, const struct error *why, struct error *err)
{
	for (size_t i = 0; i < plan->n_knobs; i++) {
		struct knob *knob = plan->knobs[i];

		if (!knob_is_planned(knob))
			continue;
		if (knob->policy == POLICY_REQUIRE)
			return error_set(err, why->err, "%s", why->text);
		if (!knob->fresh && knob_same(knob->type, knob->found, knob->wanted)) {
			xreplace(&knob->granted, knob->found);
			knob_judge(knob, KNOB_GRANTED, REASON_ALREADY, NULL);
		} else {
			knob_judge(knob, KNOB_REFUSED, reason_of_errno(why->err), "%s", why->text);
		}
	}
	return 0;
}

/* now: NULL if what it is about is gone. */
static bool is_kept(const struct knob *knob, const char *now)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;

	if (!now)
		return knob->type->mortal;
	if (knob_same(knob->type, now, knob->wanted) || knob_same(knob->type, now, knob->granted))
		return true;
	if (knob->type->serves && knob->type->serves(now, knob->wanted))
		return true;
	return knob->avoid && !cpumask_parse_list(&cpus, now) &&
	       !cpumask_intersects(&cpus, knob->avoid);
}

static bool observe(struct knob *knob, const struct system *sys)
{
	_cleanup_free_ char *now = NULL;
	int rc = knob->type->read(sys, knob->path, &now, NULL);

	if (rc && !errno_is_absent(-rc))
		return false;
	xreplace(&knob->observed, now);
	knob->observed_state = is_kept(knob, now) ? OBSERVED_KEPT : OBSERVED_DRIFTED;
	return knob->observed_state == OBSERVED_DRIFTED;
}

size_t plan_observe(struct plan *plan, const struct system *sys, bool running)
{
	size_t n_drifted = 0;

	for (size_t i = 0; i < plan->n_knobs; i++) {
		struct knob *knob = plan->knobs[i];

		if (knob->wanted && knob->observed_state != OBSERVED_DRIFTED &&
		    !(running && knob->type->slow) &&
		    (knob->state == KNOB_GRANTED || knob->state == KNOB_PENDING))
			n_drifted += observe(knob, sys);
	}
	return n_drifted;
}

void plan_restored(struct plan *plan, unsigned int seq, enum knob_restored restored,
                   const char *detail)
{
	if (seq >= plan->n_knobs)
		return;
	plan->knobs[seq]->restored = restored;
	xreplace(&plan->knobs[seq]->restore_detail, detail);
}
