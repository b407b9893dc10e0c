/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load.h"
#include "report_loops.h"
#include "report_probe.h"

#include "../isolcore/utc.h"

#include <sys/wait.h>

static json_t *json_when(const struct timespec *when)
{
	_cleanup_free_ char *text = utc_text_ms(when);

	return json_string(text);
}

static json_t *json_times(const struct launch_result *result)
{
	if (!result || !result->started)
		return json_pack("{s:n, s:n, s:n}", "began", "ended", "elapsed_ns");
	return json_pack("{s:o, s:o, s:I}", "began", json_when(&result->began), "ended",
	                 json_when(&result->ended), "elapsed_ns", (json_int_t)result->elapsed_ns);
}

static json_t *json_exit(const struct launch_result *result)
{
	if (!result || !result->started)
		return json_pack("{s:s, s:n, s:n}", "kind", "not-started", "status", "signal");
	if (WIFSIGNALED(result->wait_status))
		return json_pack("{s:s, s:n, s:i}", "kind", "killed", "status", "signal",
		                 WTERMSIG(result->wait_status));
	return json_pack("{s:s, s:i, s:n}", "kind", "exited", "status",
	                 WEXITSTATUS(result->wait_status), "signal");
}

static json_t *json_tally(const struct setting_tally *tally)
{
	json_t *counts = json_pack("{s:o}", "asked", json_count(tally->asked));

	for (int i = KNOB_PLANNED; i <= KNOB_UNAVAILABLE; i++)
		json_object_set_new(counts, knob_state_name((enum knob_state)i),
		                    json_count(tally->state[i]));
	json_object_set_new(counts, "drifted", json_count(tally->drifted));
	return counts;
}

static const char *kind_name(enum interrupt_kind kind)
{
	static const char *const names[] = {
		[INTERRUPT_DEVICE] = "device",
		[INTERRUPT_ARCH] = "arch",
		[INTERRUPT_SOFTIRQ] = "softirq",
	};

	return names[kind];
}

/* Counts of 0 are left out, and rows without a count: what is not there did not happen. */
static json_t *json_row(const struct interrupt_row *row, const struct cpumask *cpus)
{
	json_t *counts = json_object();
	size_t i = 0;

	cpumask_for_each (cpu, cpus) {
		_cleanup_free_ char *key = xasprintf("%ld", cpu);

		if (row->counts[i])
			json_object_set_new(counts, key, json_count(row->counts[i]));
		i++;
	}
	if (!json_object_size(counts)) {
		json_decref(counts);
		return NULL;
	}
	return json_pack("{s:s, s:o, s:o, s:o}", "kind", kind_name(row->kind), "id",
	                 json_text(row->id), "name", json_text(row->name), "counts", counts);
}

static json_t *json_interrupts(const struct interrupt_table *table)
{
	json_t *cpus, *rows;

	if (!table || (cpumask_empty(&table->cpus) && !table->unavailable))
		return json_null();
	cpus = json_array();
	rows = json_array();
	cpumask_for_each (cpu, &table->cpus)
		json_array_append_new(cpus, json_integer(cpu));
	for (size_t i = 0; i < table->n_rows; i++) {
		json_t *row = json_row(&table->rows[i], &table->cpus);

		if (row)
			json_array_append_new(rows, row);
	}
	return json_pack("{s:o, s:o, s:o}", "cpus", cpus, "rows", rows, "unavailable",
	                 json_text(table->unavailable));
}

void report_json(FILE *out, const struct run_report *report)
{
	struct setting_tally tally = setting_tally(report->plan);
	json_t *document = json_document("chisol_report", 1);

	json_object_set_new(document, "run_id", json_text(report->run_id));
	json_object_set_new(document, "failure", json_text(report->failure));
	json_object_set_new(document, "verdict",
	                    json_pack("{s:s, s:o}", "settings", setting_verdict(&tally), "counts",
	                              json_tally(&tally)));
	json_object_set_new(document, "exit", json_exit(report->result));
	json_object_set_new(document, "times", json_times(report->result));
	json_add_circumstances(document, report->sys, report->req);
	if (policy_asked(report->req->load.policy))
		json_object_set_new(json_object_get(document, "load"), "whole_run",
		                    json_boolean(report->load->whole_run));
	json_add_plan(document, report->plan);
	json_object_set_new(document, "interrupts", json_interrupts(report->interrupts));
	json_object_set_new(document, "probe", json_probe(report));
	json_object_set_new(document, "loops", json_loops(report));
	json_object_set_new(document, "warnings", json_strings(&report->warnings));
	json_print(out, document);
}
