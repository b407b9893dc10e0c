/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json.h"

#include <errno.h>
#include <limits.h>

static void *allocate(size_t size)
{
	return xcalloc(1, size);
}

json_t *json_document(const char *kind, int version)
{
	json_set_alloc_funcs(allocate, free);
	return json_pack("{s:i, s:s}", kind, version, "chisol_version", CHISOL_VERSION);
}

json_t *json_text(const char *text)
{
	_cleanup_free_ char *escaped = NULL;
	json_t *string;
	char *out;

	if (!text)
		return json_null();
	string = json_string(text);
	if (string)
		return string;
	escaped = out = xcalloc(strlen(text) + 1, sizeof("\\xHH"));
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte > 0x7f)
			out += sprintf(out, "\\x%02x", byte);
		else if (byte == '\\')
			out = stpcpy(out, "\\\\");
		else
			*out++ = *text;
	}
	return json_string(escaped);
}

json_t *json_strings(const struct namelist *texts)
{
	json_t *array = json_array();

	for (size_t i = 0; i < texts->n; i++)
		json_array_append_new(array, json_text(texts->names[i]));
	return array;
}

json_t *json_cpulist(const struct cpumask *cpus)
{
	_cleanup_free_ char *list = cpumask_list(cpus);

	return json_string(list);
}

json_t *json_count(unsigned long long n)
{
	return json_integer(n > LLONG_MAX ? LLONG_MAX : (json_int_t)n);
}

static json_t *json_argv(char *const *argv)
{
	json_t *array = json_array();

	for (; argv && *argv; argv++)
		json_array_append_new(array, json_text(*argv));
	return array;
}

/* Only argv can be meant to be used again: so it is said whether its strings are escaped. */
static bool is_escaped(char *const *argv)
{
	bool escaped = false;

	for (; argv && *argv; argv++) {
		json_t *string = json_string(*argv);

		escaped |= !string;
		json_decref(string);
	}
	return escaped;
}

void json_add_circumstances(json_t *document, const struct system *sys, const struct request *req)
{
	const struct machine *m = &sys->machine;
	json_t *boot = json_pack("{s:o, s:o}", "isolated", json_cpulist(&m->isolated), "nohz_full",
	                         m->has_nohz_full ? json_cpulist(&m->nohz_full) : json_null());

	json_object_set_new(document, "machine",
	                    json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "hostname",
	                              json_text(m->hostname), "kernel", json_text(m->release),
	                              "arch", json_text(m->arch), "boot_id", json_text(m->boot_id),
	                              "cpus_possible", json_cpulist(&m->possible), "cpus_present",
	                              json_cpulist(&m->present), "cpus_online",
	                              json_cpulist(&m->online), "boot", boot));
	json_object_set_new(document, "cpus",
	                    json_pack("{s:o, s:o}", "workload", json_cpulist(&req->cpus.workload),
	                              "housekeeping", json_cpulist(&req->cpus.housekeeping)));
	json_object_set_new(document, "profiles", json_text(req->profile.names));
	json_object_set_new(document, "command",
	                    json_pack("{s:o, s:b}", "argv", json_argv(req->argv), "argv_escaped",
	                              is_escaped(req->argv)));
	json_object_set_new(document, "load",
	                    policy_asked(req->load.policy)
	                            ? json_pack("{s:o, s:n}", "command",
	                                        json_text(req->load.command), "whole_run")
	                            : json_null());
}

static json_t *json_setting(const struct setting *s)
{
	json_t *granted = json_pack("{s:s, s:o}", "state", knob_state_name(s->state), "value",
	                            json_text(s->granted));
	json_t *observed =
		json_pack("{s:s, s:o}", "state", setting_observed_name(s->observed_state), "value",
	                  json_text(s->observed));
	json_t *restored = json_pack("{s:s, s:o}", "state", knob_restored_name(s->restored),
	                             "detail", json_text(s->restore_detail));

	return json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
	                 "name", json_text(s->name), "facility", json_text(s->facility), "path",
	                 json_text(s->path), "policy", setting_policy_name(s->policy), "why",
	                 json_text(s->why), "origin", json_text(s->origin), "asked",
	                 json_text(s->asked), "found", json_text(s->found), "granted", granted,
	                 "observed", observed, "restored", restored, "reason", json_text(s->reason),
	                 "detail", json_text(s->detail), "remedy", json_text(s->remedy));
}

void json_add_plan(json_t *document, const struct plan *plan)
{
	json_t *settings = json_array(), *notes = json_array();

	setting_for_each (s, plan)
		json_array_append_new(settings, json_setting(&s));
	for (size_t i = 0; i < plan->n_notes; i++) {
		const struct note *note = plan->notes[i];
		const char *facility = setting_facility_name(note->facility);

		json_array_append_new(notes,
		                      json_pack("{s:o, s:o, s:o}", "facility", json_text(facility),
		                                "reason", json_text(note->reason), "text",
		                                json_text(note->text)));
	}
	json_object_set_new(document, "settings", settings);
	json_object_set_new(document, "notes", notes);
}

int json_print(FILE *out, json_t *document)
{
	int rc = json_dumpf(document, out, JSON_INDENT(2));

	json_decref(document);
	return rc || putc('\n', out) == EOF ? -EIO : 0;
}
