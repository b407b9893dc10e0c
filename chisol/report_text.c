/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report.h"

#include "escape.h"
#include "load.h"
#include "report_loops.h"
#include "report_probe.h"
#include "setting.h"
#include "../isolcore/utc.h"

#include <sys/wait.h>

#define COMMAND_SHOWN 1000 /* bytes: a report is no place for 100,000 arguments */

int report_label(FILE *out, const char *label)
{
	return fprintf(out, "  %-*s", REPORT_INDENT - 2, label);
}

static char *outcome_words(const struct run_report *report)
{
	const struct launch_result *result = report->result;
	_cleanup_free_ char *began = NULL;
	char *words;
	double seconds;

	if (!result || !result->started)
		return xasprintf("not started");
	began = utc_text_ms(&result->began);
	seconds = (double)result->elapsed_ns / 1e9;
	if (WIFSIGNALED(result->wait_status)) {
		int sig = WTERMSIG(result->wait_status);
		const char *name = sigabbrev_np(sig);

		words = xasprintf("killed by signal %d%s%s%s after %.3f s, started %s", sig,
		                  name ? " (SIG" : "", name ? name : "", name ? ")" : "", seconds,
		                  began);
	} else {
		words = xasprintf("exited with status %d after %.3f s, started %s",
		                  WEXITSTATUS(result->wait_status), seconds, began);
	}
	return words;
}

static void print_command(FILE *out, const struct run_report *report)
{
	_cleanup_free_ char *outcome = outcome_words(report),
			    *command = escape_command(report->req->argv);

	report_line(out, "command", "%.*s%s", COMMAND_SHOWN, command,
	            strlen(command) > COMMAND_SHOWN ? " ..." : "");
	report_line(out, "outcome", "%s", outcome);
	if (policy_asked(report->req->load.policy))
		report_line(out, "load", "%s: %s",
		            report->load->whole_run ? "ran until the command had ended"
		                                    : "DID NOT LAST, see the warning",
		            report->req->load.command);
}

static void print_machine(FILE *out, const struct run_report *report)
{
	const struct machine *m = &report->sys->machine;
	const struct request *req = report->req;
	_cleanup_free_ char *workload = cpumask_list(&req->cpus.workload);
	_cleanup_free_ char *housekeeping = cpumask_list(&req->cpus.housekeeping);

	report_line(out, "machine", "%s, Linux %s %s; workload on CPU %s%s%s", m->hostname,
	            m->release, m->arch, workload, *housekeeping ? ", housekeeping on CPU " : "",
	            housekeeping);
	if (req->profile.names)
		report_line(out, "profile", "%s%s%s", req->profile.names,
		            req->profile.description ? ": " : "",
		            req->profile.description ? req->profile.description : "");
}

/* "21 granted, 2 pending": what there is, without what there is none of. */
static void print_tally(FILE *out, const struct setting_tally *tally)
{
	fprintf(out, "%zu asked", tally->asked);
	for (int state = KNOB_GRANTED; state <= KNOB_UNAVAILABLE; state++)
		if (tally->state[state])
			fprintf(out, ", %zu %s", tally->state[state],
			        knob_state_name((enum knob_state)state));
	if (tally->state[KNOB_PLANNED])
		fprintf(out, ", %zu not tried", tally->state[KNOB_PLANNED]);
	if (tally->drifted)
		fprintf(out, ", %zu drifted", tally->drifted);
	if (tally->restored[RESTORE_DONE])
		fprintf(out, "; %zu put back", tally->restored[RESTORE_DONE]);
}

static void append_value(char **text, const char *word, const char *value)
{
	if (value)
		xappend(text, "%s%s %s", **text ? ", " : "", word, setting_value(value));
}

static void print_group(FILE *out, const char *label, const struct setting_group *group,
                        bool verbose)
{
	const struct setting *s = &group->first;
	_cleanup_free_ char *name = setting_group_name(group), *values = xstrdup(""), *code = NULL;
	const char *why = s->detail ? s->detail : setting_reason_meaning(s->reason);

	append_value(&values, "asked", s->asked);
	if (verbose && s->origin)
		xappend(&values, "%s by %s", s->asked ? "" : "asked", s->origin);
	append_value(&values, "found", s->found);
	append_value(&values, "granted", s->granted);
	if (s->observed_state == OBSERVED_DRIFTED)
		append_value(&values, "observed", s->observed);
	if (s->reason && !strcmp(s->reason, REASON_GRANTED))
		why = "";
	else if (s->reason && strcmp(s->reason, label) != 0)
		code = xasprintf(" [%s]", s->reason);
	report_line(out, label, "%s: %s%s%s%s", name, values, *values && *why ? ": " : "", why,
	            code ? code : "");
	if (s->remedy)
		report_line(out, "", "-> %s", s->remedy);
}

/* What a setting is listed as, or NULL: it is as asked, and nothing more is to be said. */
static const char *setting_label(const struct setting *s, bool verbose)
{
	if (s->observed_state == OBSERVED_DRIFTED)
		return setting_observed_name(s->observed_state);
	if (s->state == KNOB_PLANNED)
		return verbose ? "not tried" : NULL;
	if (s->state == KNOB_GRANTED && setting_reason_is_way(s->reason))
		return s->reason;
	if (s->state == KNOB_GRANTED && !verbose)
		return NULL;
	return knob_state_name(s->state);
}

/* Were both refused, or the like, for the same reason in the same words? */
static bool same_story(const struct setting *a, const struct setting *b)
{
	return a->state == b->state && a->observed_state == b->observed_state && a->detail &&
	       b->detail && !strcmp(a->detail, b->detail);
}

/* The names of the groups from the first on that have its story; they are not told again. NULL: it
 * is the only one. */
static char *take_names(struct setting_groups *groups, size_t first)
{
	char *names = NULL;

	for (size_t i = first + 1; i < groups->n; i++) {
		struct setting_group *group = &groups->groups[i];
		_cleanup_free_ char *name = setting_group_name(group);

		if (!group->n || !same_story(&groups->groups[first].first, &group->first))
			continue;
		if (!names)
			names = setting_group_name(&groups->groups[first]);
		xappend(&names, ", %s", name);
		group->n = 0;
	}
	return names;
}

static void print_settings(FILE *out, const struct run_report *report)
{
	_cleanup_setting_groups_ struct setting_groups groups = SETTING_GROUPS_INIT;

	setting_for_each (s, report->plan)
		if (setting_label(&s, report->verbose))
			setting_groups_add(&groups, &s, !report->verbose);
	for (size_t i = 0; i < groups.n; i++) {
		const struct setting *s = &groups.groups[i].first;
		const char *label = setting_label(s, report->verbose);
		_cleanup_free_ char *names = NULL;

		if (!groups.groups[i].n)
			continue;
		names = report->verbose ? NULL : take_names(&groups, i);
		if (!names) {
			print_group(out, label, &groups.groups[i], report->verbose);
			continue;
		}
		report_line(out, label, "%s: %s%s%s%s", names, s->detail, s->reason ? " [" : "",
		            s->reason ? s->reason : "", s->reason ? "]" : "");
		if (s->remedy)
			report_line(out, "", "-> %s", s->remedy);
	}
}

/* How vmstat quiescing was met is always said, also when it was not. */
static void print_quiescing(FILE *out, const struct run_report *report)
{
	bool told = false;

	setting_for_each (s, report->plan)
		told |= s.state != KNOB_PLANNED && setting_reason_is_way(s.reason);
	for (size_t i = 0; i < report->plan->n_notes; i++)
		told |= setting_reason_is_way(report->plan->notes[i]->reason);
	if (report->req->task_isolation.quiesce && !told)
		report_line(
			out, "vmstat",
			"not quiesced: neither by the kernel nor by placement nor by a stand-in");
}

static void print_notes(FILE *out, const struct run_report *report)
{
	for (size_t i = 0; i < report->plan->n_notes; i++) {
		const struct note *note = report->plan->notes[i];
		bool way = setting_reason_is_way(note->reason);

		report_line(out, way ? note->reason : "note", "%s%s%s%s", note->text,
		            note->reason && !way ? " [" : "",
		            note->reason && !way ? note->reason : "",
		            note->reason && !way ? "]" : "");
	}
	for (size_t i = 0; i < report->warnings.n; i++)
		report_line(out, "warning", "%s", report->warnings.names[i]);
}

/* What was not put back as it was found. */
static void print_leftovers(FILE *out, const struct run_report *report)
{
	static const struct {
		const char *label, *reason;
	} rows[] = {
		[RESTORE_FOREIGN] = { "left alone", REASON_FOREIGN_CHANGE },
		[RESTORE_HANDED_OVER] = { "handed over", REASON_HANDED_OVER },
		[RESTORE_FAILED] = { "left over", REASON_RESTORE_FAILED },
	};
	_cleanup_setting_groups_ struct setting_groups groups = SETTING_GROUPS_INIT;

	setting_for_each (s, report->plan)
		if (s.restored < ARRAY_SIZE(rows) && rows[s.restored].label)
			setting_groups_add(&groups, &s, !report->verbose);
	for (size_t i = 0; i < groups.n; i++) {
		const struct setting *s = &groups.groups[i].first;
		_cleanup_free_ char *name = setting_group_name(&groups.groups[i]);
		_cleanup_free_ char *values = xstrdup("");
		const char *reason = rows[s->restored].reason;

		append_value(&values, "was", s->found);
		append_value(&values, "set to", s->asked);
		report_line(out, rows[s->restored].label, "%s: %s: %s [%s]", name, values,
		            s->restore_detail ? s->restore_detail : setting_reason_meaning(reason),
		            reason);
		if (s->restored == RESTORE_FAILED)
			report_line(out, "", "-> chisol --restore tries again");
	}
}

static unsigned long long row_total(const struct interrupt_row *row, size_t n_cpus)
{
	unsigned long long total = 0;

	for (size_t i = 0; i < n_cpus; i++)
		total += row->counts[i];
	return total;
}

struct total {
	const struct interrupt_row *row;
	unsigned long long total;
};

static int by_total(const void *a, const void *b)
{
	const struct total *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strverscmp(x->row->id, y->row->id);
}

#define COLUMNS_MAX 6 /* more CPUs than this are summed up */
#define COLUMN      10

static void print_hits(FILE *out, const struct total *hit, const struct cpumask *cpus,
                       size_t n_cpus)
{
	const struct interrupt_row *row = hit->row;
	_cleanup_free_ char *id = escape_text(row->id), *name = escape_text(row->name);

	fprintf(out, "  %-*s", REPORT_INDENT - 4, id);
	if (n_cpus <= COLUMNS_MAX) {
		for (size_t i = 0; i < n_cpus; i++)
			fprintf(out, "%*llu", COLUMN, row->counts[i]);
	} else {
		size_t n_hit = 0, most = 0, i = 0;
		long most_cpu = -1;

		cpumask_for_each (cpu, cpus) {
			n_hit += row->counts[i] != 0;
			if (most_cpu < 0 || row->counts[i] > row->counts[most]) {
				most = i;
				most_cpu = cpu;
			}
			i++;
		}
		fprintf(out, "%*llu%*zu%*llu  on CPU %-5ld", COLUMN, hit->total, COLUMN, n_hit,
		        COLUMN, row->counts[most], most_cpu);
	}
	fprintf(out, "  %s\n", row->kind == INTERRUPT_SOFTIRQ ? "softirq" : name);
}

static void print_interrupts(FILE *out, const struct run_report *report)
{
	const struct interrupt_table *table = report->interrupts;
	_cleanup_free_ struct total *hits = NULL;
	_cleanup_free_ char *list = NULL;
	size_t n_cpus, n = 0;

	if (!table || (cpumask_empty(&table->cpus) && !table->unavailable))
		return; /* never counted: the command did not start */
	if (table->unavailable)
		report_line(out, "interrupts", "not counted: %s", table->unavailable);
	n_cpus = cpumask_weight(&table->cpus);
	list = cpumask_list(&table->cpus);
	hits = xcalloc(table->n_rows, sizeof(*hits));
	for (size_t i = 0; i < table->n_rows; i++) {
		hits[n].row = &table->rows[i];
		hits[n].total = row_total(&table->rows[i], n_cpus);
		n += hits[n].total != 0;
	}
	if (!n) {
		if (!table->unavailable)
			report_line(out, "interrupts", "none, and no softirq, on CPU %s", list);
		return;
	}
	qsort(hits, n, sizeof(*hits), by_total);
	report_line(out, "interrupts", "and softirqs that ran on CPU %s meanwhile:", list);
	fprintf(out, "  %-*s", REPORT_INDENT - 4, "");
	if (n_cpus <= COLUMNS_MAX) {
		cpumask_for_each (cpu, &table->cpus) {
			_cleanup_free_ char *head = xasprintf("CPU %ld", cpu);

			fprintf(out, "%*s", COLUMN, head);
		}
		putc('\n', out);
	} else {
		fprintf(out, "%*s%*s%*s\n", COLUMN, "total", COLUMN, "CPUs hit", COLUMN, "most");
	}
	for (size_t i = 0; i < n; i++)
		print_hits(out, &hits[i], &table->cpus, n_cpus);
}

void report_text(FILE *out, const struct run_report *report)
{
	struct setting_tally tally = setting_tally(report->plan);

	fprintf(out, "chisol %s: ", CHISOL_VERSION);
	if (!tally.asked) {
		fputs("no setting was asked for", out);
	} else {
		fprintf(out, "settings %s: ", setting_verdict(&tally));
		print_tally(out, &tally);
	}
	if (report->probe && report->probe->asked)
		fprintf(out, "; isolation %s",
		        verdict_name(probe_verdict(report->probe, report->req)));
	putc('\n', out);
	if (report->failure)
		report_line(out, "failed", "%s", report->failure);
	print_command(out, report);
	print_machine(out, report);
	print_quiescing(out, report);
	print_settings(out, report);
	print_notes(out, report);
	print_leftovers(out, report);
	report_probe_text(out, report);
	report_loops_text(out, report);
	print_interrupts(out, report);
}
