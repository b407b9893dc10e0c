/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "status.h"

#include "escape.h"
#include "hold.h"
#include "json.h"
#include "waiting.h"
#include "../isolcore/holders.h"
#include "../isolcore/restore.h"
#include "../isolcore/state.h"

#include <errno.h>
#include <signal.h>

static const char *const state_names[] = {
	[RUN_LIVE] = "live",
	[RUN_DEAD] = "dead",
	[RUN_OTHER_BOOT] = "other-boot",
};

/* One setting worth telling of. */
struct line {
	char *name, *path;
	char *wanted, *now;          /* status */
	enum knob_restored restored; /* restore */
	char *detail;
};

/* What is told of one run, whichever of the two asks. */
struct told {
	const struct journal *run;
	enum run_state state;
	size_t n_settings;
	size_t restored[RESTORE_FAILED + 1];
	bool forgotten;
	struct line *lines;
	size_t n_lines, room;
};

struct tale {
	struct run_list list;
	struct others_runs others;
	struct told *runs; /* one for each of the list */
	bool own;          /* one is of this process: it ran out of memory */
};

static void tale_free(struct tale *tale)
{
	for (size_t i = 0; i < tale->list.n; i++) {
		struct told *told = &tale->runs[i];

		for (size_t k = 0; k < told->n_lines; k++) {
			free(told->lines[k].name);
			free(told->lines[k].path);
			free(told->lines[k].wanted);
			free(told->lines[k].now);
			free(told->lines[k].detail);
		}
		free(told->lines);
	}
	free(tale->runs);
	run_list_free(&tale->list);
	others_runs_free(&tale->others);
}
#define _cleanup_tale_ _cleanup_(tale_free)

static int tale_begin(struct tale *tale, const struct system *sys, struct error *err)
{
	int rc = run_list_load(&tale->list, sys, NULL, err);

	if (rc)
		return rc;
	tale->runs = xcalloc(tale->list.n, sizeof(*tale->runs));
	for (size_t i = 0; i < tale->list.n; i++)
		tale->runs[i] = (struct told){
			.run = &tale->list.runs[i],
			.state = run_state(&tale->list.runs[i], sys),
			.n_settings = tale->list.runs[i].n_records,
		};
	return 0;
}

static struct line *add_line(struct told *told, const struct journal_record *record)
{
	struct line *line;

	told->lines = xgrow(told->lines, told->n_lines + 1, &told->room, sizeof(*told->lines));
	line = &told->lines[told->n_lines++];
	*line = (struct line){ .name = xstrdup(record->name), .path = xstrdup(record->path) };
	return line;
}

/* A setting that a younger run holds too is that run's to look after. */
static void find_drift(struct tale *tale, struct told *told, const struct system *sys)
{
	_cleanup_holders_ struct holders holders = HOLDERS_INIT;

	holders_above(&holders, told->run, &tale->list);
	for (size_t i = 0; i < told->run->n_records; i++) {
		const struct journal_record *record = &told->run->records[i];
		const struct holder *above;
		_cleanup_free_ char *now = NULL;
		int rc = record->type->read(sys, record->path, &now, NULL);
		struct line *line;

		if (holders_of(&holders, record, &above) || (rc && !errno_is_absent(-rc)) ||
		    (rc && record->type->mortal) ||
		    knob_same(record->type, now, journal_made(record)) ||
		    knob_same(record->type, now, record->wanted))
			continue;
		line = add_line(told, record);
		line->wanted = xstrdup(journal_made(record));
		line->now = take_ptr(&now);
	}
}

static json_t *json_line(const struct line *line, bool restoring)
{
	json_t *json = json_object();

	json_object_set_new(json, "name", json_text(line->name));
	json_object_set_new(json, "path", json_text(line->path));
	if (restoring) {
		json_object_set_new(json, "outcome", json_text(knob_restored_name(line->restored)));
		json_object_set_new(json, "detail", json_text(line->detail));
	} else {
		json_object_set_new(json, "wanted", json_text(line->wanted));
		json_object_set_new(json, "now", json_text(line->now));
	}
	return json;
}

static json_t *json_told(const struct told *told, bool restoring)
{
	const struct journal *run = told->run;
	json_t *json = json_object(), *lines = json_array();

	json_object_set_new(json, "run_id", json_text(run->run_id));
	json_object_set_new(json, "state", json_text(state_names[told->state]));
	json_object_set_new(json, "pid", json_count((unsigned long long)run->pid));
	json_object_set_new(json, "command_pid",
	                    run->command_pid ? json_count((unsigned long long)run->command_pid)
	                                     : json_null());
	json_object_set_new(json, "command", json_text(run->command));
	json_object_set_new(json, "profiles", json_text(run->profiles));
	json_object_set_new(json, "cpus", json_cpulist(&run->cpus));
	json_object_set_new(json, "started", json_text(run->started));
	json_object_set_new(json, "settings", json_count(told->n_settings));
	for (size_t i = 0; i < told->n_lines; i++)
		json_array_append_new(lines, json_line(&told->lines[i], restoring));
	if (restoring) {
		json_t *outcomes = json_object();

		for (size_t i = 0; i < ARRAY_SIZE(told->restored); i++)
			json_object_set_new(outcomes, knob_restored_name((enum knob_restored)i),
			                    json_count(told->restored[i]));
		json_object_set_new(json, "outcomes", outcomes);
		json_object_set_new(json, "forgotten", json_boolean(told->forgotten));
	}
	json_object_set_new(json, restoring ? "problems" : "drifted", lines);
	return json;
}

static json_t *json_others(const struct others_runs *others)
{
	json_t *users = json_array();

	for (size_t i = 0; i < others->n; i++) {
		json_t *user = json_object();

		json_object_set_new(user, "user", json_count(others->users[i].user));
		json_object_set_new(user, "runs", json_count(others->users[i].n));
		json_array_append_new(users, user);
	}
	return users;
}

static int print_json(FILE *out, const struct tale *tale, bool restoring, pid_t holder,
                      struct error *err)
{
	json_t *document = json_document(restoring ? "chisol_restore" : "chisol_status", 1);
	json_t *runs = json_array();
	int rc;

	for (size_t i = 0; i < tale->list.n; i++)
		json_array_append_new(runs, json_told(&tale->runs[i], restoring));
	json_object_set_new(document, "runs", runs);
	json_object_set_new(document, "unreadable", json_strings(&tale->list.bad));
	if (!restoring) {
		json_object_set_new(document, "trace_holder",
		                    holder ? json_count((unsigned long long)holder) : json_null());
		json_object_set_new(document, "other_users", json_others(&tale->others));
	}
	rc = json_print(out, document);
	return rc ? error_errno(err, -rc, "cannot print the runs") : 0;
}

static void print_run(FILE *out, const struct told *told)
{
	const struct journal *run = told->run;
	_cleanup_free_ char *cpus = cpumask_list(&run->cpus);

	escape_print(out, "run %s, %s, since %s: %s", run->run_id, state_names[told->state],
	             run->started, run->command);
	fputs("\n  ", out);
	escape_print(out, "process %d", run->pid);
	if (run->command_pid)
		escape_print(out, ", command's process %d", run->command_pid);
	escape_print(out, ", CPUs %s, profiles %s, %zu settings", *cpus ? cpus : "none of its own",
	             run->profiles ? run->profiles : "none", told->n_settings);
	putc('\n', out);
}

static void print_status_line(FILE *out, const struct line *line)
{
	fputs("  ", out);
	if (line->now)
		escape_print(out, "drifted: %s (%s): wanted \"%s\", now \"%s\"", line->name,
		             line->path, line->wanted, line->now);
	else
		escape_print(out, "gone: %s (%s): wanted \"%s\"", line->name, line->path,
		             line->wanted);
	putc('\n', out);
}

static void print_bad(FILE *out, const struct tale *tale)
{
	for (size_t i = 0; i < tale->list.bad.n; i++) {
		escape_print(out, "%s", tale->list.bad.names[i]);
		putc('\n', out);
	}
	if (tale->list.bad.n)
		fputs("Journals that cannot be read are left alone; remove them once their settings "
		      "are put back by hand.\n",
		      out);
}

static void print_status(FILE *out, const struct tale *tale, pid_t holder)
{
	size_t n_dead = 0;

	for (size_t i = 0; i < tale->list.n; i++) {
		const struct told *told = &tale->runs[i];

		print_run(out, told);
		for (size_t k = 0; k < told->n_lines; k++)
			print_status_line(out, &told->lines[k]);
		n_dead += told->state == RUN_DEAD;
	}
	if (!tale->list.n && !tale->others.n)
		fputs("There are no runs.\n", out);
	for (size_t i = 0; i < tale->others.n; i++) {
		const struct others_run *other = &tale->others.users[i];

		fprintf(out, "User %u has %zu run%s; chisol --status as that user tells of %s.\n",
		        other->user, other->n, other->n == 1 ? "" : "s",
		        other->n == 1 ? "it" : "them");
	}
	if (holder)
		fprintf(out, "Process %d holds the trace events (--hold-trace).\n", (int)holder);
	if (n_dead)
		fputs("chisol --restore puts back what dead runs left.\n", out);
	print_bad(out, tale);
}

int status_print(enum report_format format, const struct system *sys, FILE *out, struct error *err)
{
	_cleanup_tale_ struct tale tale = { 0 };
	pid_t holder = hold_find(sys, NULL);
	bool look_after;

	if (tale_begin(&tale, sys, err))
		return EXIT_CHISOL;
	others_runs_find(&tale.others, sys);
	look_after = tale.list.bad.n;
	for (size_t i = 0; i < tale.list.n; i++) {
		if (tale.runs[i].state == RUN_LIVE)
			find_drift(&tale, &tale.runs[i], sys);
		look_after |= tale.runs[i].state == RUN_DEAD || tale.runs[i].n_lines;
	}
	if (format == REPORT_JSON) {
		if (print_json(out, &tale, false, holder, err))
			return EXIT_CHISOL;
	} else {
		print_status(out, &tale, holder);
	}
	return look_after;
}

static void note_outcome(void *ctx, const struct journal *run, const struct journal_record *record,
                         enum knob_restored restored, const char *detail)
{
	struct tale *tale = ctx;

	for (size_t i = 0; i < tale->list.n; i++) {
		struct line *line;

		if (strcmp(tale->list.runs[i].run_id, run->run_id) != 0)
			continue;
		tale->runs[i].restored[restored]++;
		if (restored != RESTORE_FOREIGN && restored != RESTORE_FAILED)
			return;
		line = add_line(&tale->runs[i], record);
		line->restored = restored;
		line->detail = detail ? xstrdup(detail) : NULL;
		return;
	}
}

static void print_restored(FILE *out, const struct told *told, const char *dir)
{
	static const char *const words[] = {
		[RESTORE_NONE] = "as found already",
		[RESTORE_DONE] = "put back",
		[RESTORE_FOREIGN] = "left alone",
		[RESTORE_HANDED_OVER] = "handed to another run",
		[RESTORE_GONE] = "gone meanwhile",
		[RESTORE_FAILED] = "not put back",
	};
	const char *comma = ": ";

	escape_print(out, "run %s (%s)", told->run->run_id, told->run->command);
	if (told->state == RUN_LIVE)
		fputs(" is live; left alone", out);
	if (told->state == RUN_OTHER_BOOT)
		fputs(" was before this boot; nothing of it is left, its journal is removed", out);
	for (size_t i = 0; i < ARRAY_SIZE(told->restored); i++) {
		if (!told->restored[i])
			continue;
		fprintf(out, "%s%zu %s", comma, told->restored[i], words[i]);
		comma = ", ";
	}
	putc('\n', out);
	for (size_t i = 0; i < told->n_lines; i++) {
		const struct line *line = &told->lines[i];

		fputs("  ", out);
		escape_print(out, "%s: %s: %s", words[line->restored], line->name,
		             line->detail ? line->detail : line->path);
		putc('\n', out);
	}
	if (told->forgotten)
		escape_print(out, "  given up; what it had changed stands in %s/%s.forgotten", dir,
		             told->run->run_id);
	else if (told->restored[RESTORE_FAILED])
		escape_print(out,
		             "  Try again when the reason is gone, or put it back by hand and give "
		             "the run up: chisol --forget %s",
		             told->run->run_id);
	if (told->restored[RESTORE_FAILED])
		putc('\n', out);
}

static void print_restore(FILE *out, const struct tale *tale, const struct system *sys)
{
	_cleanup_free_ char *dir = state_dir(&sys->root);

	for (size_t i = 0; i < tale->list.n; i++)
		print_restored(out, &tale->runs[i], dir);
	if (!tale->list.n)
		fputs("There is nothing to restore.\n", out);
	print_bad(out, tale);
}

static int forget(struct tale *tale, const char *run_id, const struct system *sys,
                  struct error *err)
{
	for (size_t i = 0; i < tale->list.n; i++) {
		struct told *told = &tale->runs[i];
		int rc = 0;

		if (strcmp(told->run->run_id, run_id) != 0)
			continue;
		if (told->state == RUN_LIVE)
			return error_set(err, EBUSY,
			                 "cannot give up run %s: it is live, process %d", run_id,
			                 told->run->pid);
		if (told->restored[RESTORE_FAILED])
			rc = run_forget(told->run, sys, err);
		told->forgotten = told->restored[RESTORE_FAILED] && !rc;
		return rc;
	}
	return error_set(err, ENOENT,
	                 "cannot give up run \"%s\": chisol --status shows no such run", run_id);
}

/* A run of this very process ends here, and its command first. */
static void end_own(struct tale *tale)
{
	for (size_t i = 0; i < tale->list.n; i++) {
		const struct journal *run = &tale->list.runs[i];

		if (!run_is_own(run))
			continue;
		tale->own = true;
		/* Not waited for by its first image, so the number is still the command's. */
		if (run->command_pid)
			kill(run->command_pid, SIGTERM);
	}
}

/* Everything that can be restored is, and told of in the tale; run_id, if any, is given up. Returns
 * an error for what is not told there. */
static int restore_all(struct tale *tale, const struct system *sys, const char *run_id,
                       struct error *err)
{
	_cleanup_free_ char *dir = state_dir(&sys->root);
	_cleanup_close_ int lock = -1;
	int rc;

	/* Looking for something to do must not need what only doing it does: root. */
	if (!sysroot_exists(&sys->root, dir))
		return run_id ? forget(tale, run_id, sys, err) : 0;
	rc = state_lock(&sys->root, say_waiting, &lock, err);
	if (!rc)
		rc = tale_begin(tale, sys, err);
	end_own(tale);
	if (!rc)
		rc = run_restore_dead(sys, note_outcome, tale, err);
	for (size_t i = 0; rc && i < tale->list.n; i++) {
		if (!tale->runs[i].restored[RESTORE_FAILED])
			continue;
		error_clear(err);
		rc = 0;
	}
	return rc || !run_id ? rc : forget(tale, run_id, sys, err);
}

int forget_print(enum report_format format, const struct system *sys, const char *run_id, FILE *out,
                 struct error *err)
{
	_cleanup_tale_ struct tale tale = { 0 };
	size_t left;

	if (restore_all(&tale, sys, run_id, err))
		return EXIT_CHISOL;
	left = tale.list.bad.n;
	for (size_t i = 0; i < tale.list.n; i++)
		left += tale.runs[i].forgotten ? 0 : tale.runs[i].n_lines;
	if (format == REPORT_JSON) {
		if (print_json(out, &tale, true, 0, err))
			return EXIT_CHISOL;
	} else {
		print_restore(out, &tale, sys);
	}
	if (tale.own)
		return EXIT_CHISOL;
	return left ? 1 : 0;
}

int restore_print(enum report_format format, const struct system *sys, FILE *out, struct error *err)
{
	return forget_print(format, sys, NULL, out, err);
}
