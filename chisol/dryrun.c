/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "escape.h"
#include "json.h"

#include <errno.h>

static void __attribute__((format(printf, 2, 3))) print_escaped(FILE *out, const char *fmt, ...)
{
	_cleanup_free_
	char *raw = NULL, *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	raw = xvasprintf(fmt, ap);
	va_end(ap);
	text = escape_text(raw);
	fputs(text, out);
}

static const char *or_none(const char *value)
{
	if (!value)
		return "(none)";
	return *value ? value : "(empty)";
}

/* Will chisol write it? */
static bool is_to_do(const struct setting *s)
{
	return s->state == KNOB_PLANNED && s->asked;
}

static void print_setting(FILE *out, size_t number, const struct setting *s)
{
	if (is_to_do(s))
		fprintf(out, "%4zu. ", number);
	else
		fprintf(out, "   -  ");
	print_escaped(out, "%s: ", s->name);
	if (!is_to_do(s) && s->state != KNOB_GRANTED)
		print_escaped(out, "%s [%s]: %s; ", knob_state_name(s->state),
		              s->reason ? s->reason : "",
		              s->detail ? s->detail : setting_reason_meaning(s->reason));
	if (s->path)
		print_escaped(out, "%s: %s", s->path, or_none(s->found));
	if (s->path && s->asked)
		fputs(" -> ", out);
	if (s->asked)
		print_escaped(out, "%s", or_none(s->asked));
	if (s->why)
		print_escaped(out, "  (%s; %s)", s->why, setting_policy_name(s->policy));
	putc('\n', out);
	if (s->remedy && !is_to_do(s) && s->state != KNOB_GRANTED) {
		fputs("      -> ", out);
		print_escaped(out, "%s\n", s->remedy);
	}
}

static void print_text(FILE *out, const struct system *sys, const struct request *req,
                       const struct plan *plan)
{
	_cleanup_free_
	char *workload = cpumask_list(&req->cpus.workload);
	_cleanup_free_
	char *housekeeping = cpumask_list(&req->cpus.housekeeping);
	size_t number = 0;

	print_escaped(out, "chisol %s: a plan for %s, Linux %s; nothing is changed", CHISOL_VERSION,
	              sys->machine.hostname, sys->machine.release);
	print_escaped(out, "; workload on CPU %s, housekeeping on CPU %s", workload,
	              or_none(housekeeping));
	fputs("\n\n", out);
	if (plan->n_knobs)
		fputs("Written in this order, read back, and undone in reverse:\n", out);
	setting_for_each(s, plan)
	{
		if (i_s == plan->n_knobs)
			fputs("\nIn the process that becomes the command, which ends with it:\n",
			      out);
		number += is_to_do(&s);
		print_setting(out, number, &s);
	}
	if (!setting_count(plan))
		fputs("No setting is asked for.\n", out);
	if (plan->n_notes)
		fputs("\nTo be known:\n", out);
	for (size_t i = 0; i < plan->n_notes; i++) {
		const char *reason = plan->notes[i]->reason;

		fputs("   -  ", out);
		print_escaped(out, "%s%s%s%s", plan->notes[i]->text, reason ? " [" : "",
		              reason ? reason : "", reason ? "]" : "");
		putc('\n', out);
	}
	if (req->argv && *req->argv) {
		_cleanup_free_
		char *command = escape_command(req->argv);

		fprintf(out, "\nThen: %s\n", command);
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

	print_escaped(out, "# %s (%s): %s", s->name, setting_policy_name(s->policy),
	              s->why ? s->why : "");
	putc('\n', out);
	if (!is_to_do(s) || !can) {
		print_escaped(out, "#   left out: %s %s",
		              is_to_do(s) ? "sh cannot set" : knob_state_name(s->state),
		              s->asked ? s->asked : or_none(s->found));
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
		_cleanup_free_
		char *name = escape_text(s->name);
		_cleanup_free_
		char *sentence = xasprintf("not granted: %s", name);

		fputs("} || echo ", out);
		shell_quote(out, sentence);
		fputs(" >&2\n", out);
	}
}

static void print_sh_variable(FILE *out, const char *name, const struct cpumask *cpus)
{
	_cleanup_free_
	char *list = cpumask_list(cpus);

	fprintf(out, "export %s=", name);
	shell_quote(out, list);
	putc('\n', out);
}

/* Nothing from outside reaches the script but in single quotes, or escaped in a comment. */
static void print_sh(FILE *out, const struct system *sys, const struct request *req,
                     const struct plan *plan)
{
	fputs("#!/bin/sh\n", out);
	print_escaped(out,
	              "# What chisol %s would do on %s. It neither verifies nor undoes anything.",
	              CHISOL_VERSION, sys->machine.hostname);
	fputs("\n# shellcheck disable=SC2016,SC1003 # values are meant literally\nset -eu\n\n",
	      out);
	for (size_t i = 0; i < plan->n_notes; i++) {
		print_escaped(out, "# %s", plan->notes[i]->text);
		putc('\n', out);
	}
	setting_for_each(s, plan) print_sh_setting(out, &s);
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
