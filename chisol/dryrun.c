/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "escape.h"
#include "json.h"

#include <errno.h>

#define INDENT 6 /* the width of a number */

/* What is said of a setting that will not be made. */
static const char *standing(const struct setting *s)
{
	return s->state == KNOB_PLANNED && s->asked ? "already" : knob_state_name(s->state);
}

/* "   1. NAME: PATH: FOUND -> WANTED (WHY; POLICY)", with what is known already behind it. */
static void print_setting(FILE *out, size_t number, const struct setting *s)
{
	_cleanup_free_ char *place = NULL, *purpose = NULL;
	const char *known = s->detail ? s->detail : setting_reason_meaning(s->reason);
	bool to_do = setting_is_to_do(s);
	int column;

	if (s->path)
		place = xasprintf("%s: %s%s", s->path, setting_value(s->found),
		                  s->asked ? " -> " : "");
	purpose = xasprintf("%s%s%s", s->why ? s->why : "", s->why ? "; " : "",
	                    setting_policy_name(s->policy));
	if (to_do)
		column = fprintf(out, "%4zu. ", number);
	else
		column = fprintf(out, "   -  ");
	escape_fold(out, column, INDENT, "%s: %s%s (%s)%s%s%s%s", s->name, place ? place : "",
	            s->asked ? setting_value(s->asked) : "", purpose, to_do ? "" : ": ",
	            to_do ? "" : standing(s), *known ? ": " : "", known);
	if (s->remedy && !to_do)
		escape_fold(out, fprintf(out, "%*s", INDENT, ""), INDENT, "-> %s", s->remedy);
}

static void print_text(FILE *out, const struct system *sys, const struct request *req,
                       const struct plan *plan)
{
	_cleanup_free_ char *workload = cpumask_list(&req->cpus.workload);
	_cleanup_free_ char *housekeeping = cpumask_list(&req->cpus.housekeeping);
	size_t number = 0;

	escape_fold(
		out, 0, 0,
		"chisol %s: a plan for %s, Linux %s; nothing is changed; workload on CPU %s%s%s",
		CHISOL_VERSION, sys->machine.hostname, sys->machine.release, workload,
		*housekeeping ? ", housekeeping on CPU " : "", housekeeping);
	if (plan->n_knobs)
		fputs("\nWritten in this order, read back, and undone in reverse:\n", out);
	setting_for_each (s, plan) {
		if (i_s == plan->n_knobs)
			fputs("\nIn the process that becomes the command, which ends with it:\n",
			      out);
		number += setting_is_to_do(&s);
		print_setting(out, number, &s);
	}
	if (!setting_count(plan))
		fputs("\nNo setting is asked for.\n", out);
	if (plan->n_notes)
		fputs("\nTo be known:\n", out);
	for (size_t i = 0; i < plan->n_notes; i++) {
		const char *reason = plan->notes[i]->reason;

		escape_fold(out, fprintf(out, "   -  "), INDENT, "%s%s%s%s", plan->notes[i]->text,
		            reason ? " [" : "", reason ? reason : "", reason ? "]" : "");
	}
	if (policy_asked(req->load.policy)) {
		putc('\n', out);
		escape_fold(out, fprintf(out, "Load: "), INDENT,
		            "%s, on the housekeeping CPUs, until the command has ended",
		            req->load.command);
	}
	if (req->argv && *req->argv) {
		_cleanup_free_ char *command = escape_command(req->argv);

		putc('\n', out);
		escape_fold(out, fprintf(out, "Then: "), INDENT, "%s", command);
	}
}

static int print_json(FILE *out, const struct system *sys, const struct request *req,
                      const struct plan *plan)
{
	json_t *document = json_document("chisol_plan", 1);

	json_add_circumstances(document, sys, req);
	json_add_plan(document, plan);
	return json_print(out, document);
}

static void print_sh_setting(FILE *out, const struct setting *s)
{
	bool guarded = s->policy != POLICY_REQUIRE;
	bool can = s->knob ? s->knob->type != NULL : s->task->op && s->task->op->shell;

	escape_print(out, "# %s (%s): %s", s->name, setting_policy_name(s->policy),
	             s->why ? s->why : "");
	putc('\n', out);
	if (!setting_is_to_do(s) || !can) {
		escape_print(out, "#   left out: %s %s",
		             setting_is_to_do(s) ? "sh cannot set" : standing(s),
		             s->asked ? s->asked : setting_value(s->found));
		putc('\n', out);
		return;
	}
	if (guarded)
		fputs("{\n", out);
	if (s->task)
		s->task->op->shell(out, s->task);
	else if (s->knob->type->shell)
		s->knob->type->shell(out, s->path, s->asked);
	else
		knob_file_shell(out, s->path, s->asked);
	if (guarded) {
		_cleanup_free_ char *name = escape_text(s->name);
		_cleanup_free_ char *sentence = xasprintf("not granted: %s", name);

		fputs("} || echo ", out);
		shell_quote(out, sentence);
		fputs(" >&2\n", out);
	}
}

static void print_sh_variable(FILE *out, const char *name, const struct cpumask *cpus)
{
	_cleanup_free_ char *list = cpumask_list(cpus);

	fprintf(out, "export %s=", name);
	shell_quote(out, list);
	putc('\n', out);
}

/* Nothing from outside reaches the script but in single quotes, or escaped in a comment. */
static void print_sh(FILE *out, const struct system *sys, const struct request *req,
                     const struct plan *plan)
{
	fputs("#!/bin/sh\n", out);
	escape_print(out,
	             "# What chisol %s would do on %s. It neither verifies nor undoes anything.",
	             CHISOL_VERSION, sys->machine.hostname);
	fputs("\n# shellcheck disable=SC2016,SC1003 # values are meant literally\nset -eu\n\n",
	      out);
	for (size_t i = 0; i < plan->n_notes; i++) {
		escape_print(out, "# %s", plan->notes[i]->text);
		putc('\n', out);
	}
	if (policy_asked(req->load.policy)) {
		escape_print(out, "# load.command, which this script does not start: %s",
		             req->load.command);
		putc('\n', out);
	}
	setting_for_each (s, plan)
		print_sh_setting(out, &s);
	print_sh_variable(out, "CHISOL_CPUS", &req->cpus.workload);
	print_sh_variable(out, "CHISOL_HOUSEKEEPING_CPUS", &req->cpus.housekeeping);
	if (!req->argv || !*req->argv)
		return;
	fputs("exec", out);
	for (char *const *arg = req->argv; *arg; arg++) {
		putc(' ', out);
		shell_quote(out, *arg);
	}
	putc('\n', out);
}

int dry_run_print(enum dry_run_format format, const struct system *sys, const struct request *req,
                  const struct plan *plan, FILE *out, struct error *err)
{
	int rc = 0;

	switch (format) {
	case DRY_RUN_TEXT:
		print_text(out, sys, req, plan);
		break;
	case DRY_RUN_JSON:
		rc = print_json(out, sys, req, plan);
		break;
	case DRY_RUN_SH:
		print_sh(out, sys, req, plan);
		break;
	}
	if (rc || fflush(out) == EOF || ferror(out))
		return error_errno(err, errno ? errno : EIO, "cannot write the plan");
	return 0;
}
