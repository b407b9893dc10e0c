/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "escape.h"
#include "json.h"

#include <errno.h>

enum finding {
	FINDING_NONE,
	FINDING_DIFFERS,
	FINDING_UNAVAILABLE,
	FINDING_EXPOSED,
	FINDING_UNREADABLE,
};

static const char *const finding_names[] = {
	[FINDING_NONE] = "as-asked",           [FINDING_DIFFERS] = "differs",
	[FINDING_UNAVAILABLE] = "unavailable", [FINDING_EXPOSED] = "exposed",
	[FINDING_UNREADABLE] = "unreadable",
};

struct tally {
	size_t of[ARRAY_SIZE(finding_names)];
	size_t checked;
};

/* Is it there only while a run is? What the cgroup section asks for is never left behind. */
static bool is_of_run(const struct setting *s)
{
	return s->task || s->knob->fresh || (s->facility && !strcmp(s->facility, "cgroup"));
}

static enum finding judge(const struct setting *s)
{
	if (s->state == KNOB_EXPOSED)
		return FINDING_EXPOSED;
	if (s->state == KNOB_UNAVAILABLE)
		return FINDING_UNAVAILABLE;
	if (s->state == KNOB_REFUSED)
		return s->found ? FINDING_DIFFERS : FINDING_UNREADABLE;
	if (is_of_run(s) || !s->asked)
		return FINDING_NONE;
	if (!s->found)
		return FINDING_UNREADABLE;
	return knob_same(s->knob->type, s->found, s->asked) ? FINDING_NONE : FINDING_DIFFERS;
}

static int verdict_of(const struct tally *tally)
{
	if (tally->of[FINDING_DIFFERS] || tally->of[FINDING_UNAVAILABLE])
		return 1;
	return tally->of[FINDING_UNREADABLE] || !tally->checked ? EXIT_CHISOL : 0;
}

static const char *verdict_name(int verdict)
{
	if (verdict == 1)
		return "not-as-asked";
	return verdict ? "could-not-tell" : "as-asked";
}

/* SMT: what others run beside the command slows it down. */
static void advise_on_cores(struct namelist *advice, const struct system *sys,
                            const struct cpumask *workload)
{
	_cleanup_cpumask_ struct cpumask mates = CPUMASK_INIT;
	_cleanup_free_ char *cpus = NULL, *list = NULL;

	system_core_mates(sys, workload, &mates);
	cpumask_andnot(&mates, &sys->machine.isolated);
	if (cpumask_empty(&mates))
		return;
	cpus = cpumask_list(workload);
	list = cpumask_list(&mates);
	namelist_take(advice, xasprintf("CPU %s shares its core with CPU %s, which others may use; "
	                                "ask for all of a core, as with -c siblings:%ld, or keep "
	                                "everybody off the rest of it with isolcpus=%s",
	                                cpus, list, cpumask_next(workload, 0), list));
}

static void advise(struct namelist *advice, const struct tally *tally, const struct system *sys,
                   const struct request *req)
{
	const struct machine *m = &sys->machine;
	_cleanup_cpumask_ struct cpumask ticking = CPUMASK_INIT;
	_cleanup_free_ char *list = NULL;

	if (tally->of[FINDING_DIFFERS])
		namelist_add(advice, "chisol sets what differs for the time of a run; with "
		                     "--dry-run=sh it prints a script that sets it for good");
	if (!req->cpus.asked)
		return;
	advise_on_cores(advice, sys, &req->cpus.workload);
	cpumask_copy(&ticking, &req->cpus.workload);
	cpumask_andnot(&ticking, &m->nohz_full);
	if (cpumask_empty(&ticking))
		return;
	list = cpumask_list(&ticking);
	if (m->has_nohz_full)
		namelist_take(advice, xasprintf("the timer ticks on CPU %s; boot with nohz_full=%s "
		                                "rcu_nocbs=%s",
		                                list, list, list));
	else
		namelist_take(advice,
		              xasprintf("the timer ticks on CPU %s; that needs a kernel with "
		                        "CONFIG_NO_HZ_FULL, booted with nohz_full=%s",
		                        list, list));
}

/* One line a finding, for grep(1): not folded. */
static void print_finding(FILE *out, enum finding finding, const struct setting_group *group)
{
	const struct setting *s = &group->first;
	const char *why = s->detail ? s->detail : setting_reason_meaning(s->reason);
	_cleanup_free_ char *name = setting_group_name(group), *what = NULL;

	if (finding == FINDING_DIFFERS)
		what = xasprintf("is %s, should be %s", setting_value(s->found),
		                 setting_value(s->asked));
	else
		what = xstrdup(finding_names[finding]);
	escape_print(out, "%s: %s", name, what);
	if (group->n == 1 && s->path)
		escape_print(out, " (%s)", s->path);
	if (*why)
		escape_print(out, ": %s", why);
	if (s->remedy)
		escape_print(out, " -> %s", s->remedy);
	putc('\n', out);
}

static void print_text(FILE *out, const struct plan *plan, const struct namelist *advice,
                       const struct tally *tally)
{
	_cleanup_setting_groups_ struct setting_groups groups = SETTING_GROUPS_INIT;

	setting_for_each (s, plan) {
		enum finding finding = judge(&s);

		if (finding != FINDING_NONE)
			setting_groups_add(&groups, &s, finding == FINDING_EXPOSED);
	}
	for (size_t i = 0; i < groups.n; i++)
		print_finding(out, judge(&groups.groups[i].first), &groups.groups[i]);
	for (size_t i = 0; i < plan->n_notes; i++) {
		escape_print(out, "note: %s", plan->notes[i]->text);
		putc('\n', out);
	}
	for (size_t i = 0; i < advice->n; i++)
		fprintf(out, "advice: %s\n", advice->names[i]);
	fprintf(out,
	        "%s: %zu settings, of which %zu differ, %zu unavailable, %zu exposed, %zu "
	        "unreadable\n",
	        verdict_name(verdict_of(tally)), tally->checked, tally->of[FINDING_DIFFERS],
	        tally->of[FINDING_UNAVAILABLE], tally->of[FINDING_EXPOSED],
	        tally->of[FINDING_UNREADABLE]);
}

static json_t *json_finding(enum finding finding, const struct setting *s)
{
	return json_pack("{s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "kind",
	                 finding_names[finding], "name", json_text(s->name), "path",
	                 json_text(s->path), "policy", setting_policy_name(s->policy), "asked",
	                 json_text(s->asked), "found", json_text(s->found), "reason",
	                 json_text(s->reason), "detail", json_text(s->detail), "remedy",
	                 json_text(s->remedy));
}

static int print_json(FILE *out, const struct system *sys, const struct request *req,
                      const struct plan *plan, const struct namelist *advice,
                      const struct tally *tally)
{
	json_t *document = json_document("chisol_check", 1);
	json_t *findings = json_array();

	setting_for_each (s, plan) {
		enum finding finding = judge(&s);

		if (finding != FINDING_NONE)
			json_array_append_new(findings, json_finding(finding, &s));
	}
	json_object_set_new(document, "verdict", json_string(verdict_name(verdict_of(tally))));
	json_object_set_new(document, "checked", json_count(tally->checked));
	json_object_set_new(document, "findings", findings);
	json_object_set_new(document, "advice", json_strings(advice));
	json_add_circumstances(document, sys, req);
	json_add_plan(document, plan);
	return json_print(out, document);
}

int check_print(enum report_format format, const struct system *sys, const struct request *req,
                const struct plan *plan, FILE *out, struct error *err)
{
	_cleanup_namelist_ struct namelist advice = NAMELIST_INIT;
	struct tally tally = { 0 };
	int rc = 0, verdict;

	setting_for_each (s, plan) {
		tally.of[judge(&s)]++;
		tally.checked++;
	}
	advise(&advice, &tally, sys, req);
	if (format == REPORT_JSON)
		rc = print_json(out, sys, req, plan, &advice, &tally);
	else
		print_text(out, plan, &advice, &tally);
	if (rc || fflush(out) == EOF || ferror(out)) {
		error_errno(err, errno ? errno : EIO, "cannot write the findings");
		return EXIT_CHISOL;
	}
	verdict = verdict_of(&tally);
	/* A script that forgets its profile must not pass every machine. */
	if (!tally.checked)
		error_set(err, ENODATA,
		          "there is nothing to check: no setting is asked for; add a --profile, "
		          "or --set, -c or -q");
	else if (verdict == EXIT_CHISOL)
		error_set(err, ENODATA, "%zu of %zu settings could not be read",
		          tally.of[FINDING_UNREADABLE], tally.checked);
	return verdict;
}
