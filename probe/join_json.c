/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "join_json.h"

static json_t *number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *count_object(const struct join_count *count)
{
	return json_pack("{s:o, s:o, s:o}", "count", number(count->n), "total_ns",
	                 number(count->total), "max_ns", number(count->longest));
}

static void add_row(json_t *rows, const char *code, const char *kind, const char *meaning,
                    const struct join_count *count)
{
	json_t *row;

	if (!count->n)
		return;
	row = count_object(count);
	json_object_set_new(row, "cause", json_string(code));
	json_object_set_new(row, "kind", json_string(kind));
	json_object_set_new(row, "meaning", json_string(meaning));
	json_array_append_new(rows, row);
}

/* kind: the kernel's event, the kernel without an event, or not the kernel. */
static json_t *causes_array(const struct join_cpu *c)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < n_causes; i++)
		add_row(rows, causes[i].code, "event", causes[i].meaning, &c->causes[i]);
	for (size_t i = 0; i < n_outsides; i++)
		add_row(rows, outsides[i].code, outsides[i].kernel ? "no-event" : "not-kernel",
		        outsides[i].meaning, &c->outsides[i]);
	return rows;
}

static json_t *over_object(const struct join_cpu *c)
{
	const struct join_over all = join_over(c);
	json_t *rows = json_array();

	for (size_t i = 0; i < n_causes; i++)
		if (c->over[i].n)
			json_array_append_new(rows,
			                      json_pack("{s:s, s:o, s:o}", "cause", causes[i].code,
			                                "count", number(c->over[i].n), "in_gaps",
			                                number(c->over[i].joined)));
	return json_pack("{s:o, s:o, s:o, s:o}", "count", number(all.n), "in_gaps",
	                 number(all.joined), "while_blind", number(c->blind), "by_cause", rows);
}

static json_t *signs_array(unsigned int signs)
{
	json_t *names = json_array();

	for (unsigned int i = 0; i < N_SIGNS; i++)
		if (signs & 1u << i)
			json_array_append_new(names, json_string(sign_names[i]));
	return names;
}

json_t *join_json_cpu(const struct gap_watch *gw, size_t i)
{
	const struct join_cpu *c = &gw->join.cpus[i];
	const struct join_count kernel = join_kernels(c), foreign = join_foreign(c);
	const struct outside_cpu *outside = &gw->outside.cpus[i];

	return json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}",
		"joined", count_object(&c->all), "by_kernel", count_object(&kernel),
		"by_kernel_with_event", count_object(&c->named), "not_by_kernel",
		count_object(&foreign), "in_events_ns", number(c->seen), "by_cause",
		causes_array(c), "kernel_breaks_over_threshold", over_object(c), "together",
		number(c->together), "everywhere", number(c->everywhere), "lost_gaps",
		number(c->lost), "time_error_ns", number(c->off), "steal_ns",
		number(outside_steal_ns(&gw->outside, i)), "virtual_machine", gw->outside.vm,
		"lost_events", number(gw->watch->cpus[i].lost), "smis",
		outside->has_smis ? number(outside->smis) : json_null());
}

static json_t *events_array(const struct join_gap *gap)
{
	json_t *events = json_array();

	for (size_t i = 0; i < gap->n_parts; i++) {
		const struct part *part = &gap->parts[i];
		json_t *name = *part->text ? json_string(part->text) : NULL;

		json_array_append_new(
			events, json_pack("{s:s, s:o, s:I, s:o, s:i, s:b}", "cause",
		                          part->cause->code, "name", name ? name : json_null(),
		                          "after_ns", (json_int_t)(part->start - gap->start),
		                          "length_ns", number(part->end - part->start), "depth",
		                          (int)part->depth, "cut", part->cut));
	}
	return events;
}

void join_json_gap(json_t *object, const struct join_gap *gap)
{
	if (!gap) {
		json_object_set_new(object, "cause", json_null());
		return;
	}
	json_object_set_new(object, "cause",
	                    json_string(gap->cause ? gap->cause->code : gap->outside->code));
	json_object_set_new(object, "in_events_ns", number(gap->seen));
	json_object_set_new(object, "signs", signs_array(gap->signs));
	json_object_set_new(object, "events", events_array(gap));
}
