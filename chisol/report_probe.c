/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report_probe.h"

#include "escape.h"
#include "report_threads.h"

static bool was_asked(const struct run_report *report)
{
	return report->probe && report->probe->asked;
}

static bool was_watched(const struct run_report *report)
{
	return was_asked(report) && report->probe->watches && report->probe->watch.ended;
}

/* What a part was, for people: "virtio1-req.0 (irq 36)", "vmstat_update", "by sh (812) on CPU 0".
 */
static char *part_words(const struct part *part, struct symbols *symbols)
{
	char *text = xstrdup("");

	if (part->source == TRACE_TASK)
		xappend(&text, " %s (%d)", part->text, (int)part->pid);
	else if (part->source == TRACE_DEVICE)
		xappend(&text, " %s (irq %llu)", part->text, (unsigned long long)part->number);
	else if (*part->text)
		xappend(&text, " %s", part->text);
	for (size_t i = 0; i < PART_FUNCTIONS && part->functions[i]; i++) {
		const char *name = symbols_name(symbols, part->functions[i]);

		if (name)
			xappend(&text, " %s", name);
		else
			xappend(&text, " 0x%llx", (unsigned long long)part->functions[i]);
	}
	if (part->has_sender)
		xappend(&text, " by %s (%d) on CPU %u",
		        *part->sender_name ? part->sender_name : "a task that is gone",
		        (int)part->sender, part->sender_cpu);
	return text;
}

static double since(const struct trace_watch *tw, uint64_t time)
{
	return (double)(time - tw->began) / 1e9;
}

static void print_cpus(FILE *out, const struct trace_watch *tw, const struct request *req)
{
	for (size_t i = 0; i < tw->n_cpus; i++) {
		const struct watched_cpu *cpu = &tw->cpus[i];
		_cleanup_verdict_ struct verdict verdict;
		_cleanup_free_ char *words = NULL;

		verdict_of_cpu(&verdict, cpu, tw, req);
		words = verdict_words(&verdict);
		report_line(out, i ? "" : "isolation",
		            "CPU %u %s; %llu foreign breaks (%.1f us, longest "
		            "%.1f us), %llu of its own doing",
		            cpu->cpu, words, (unsigned long long)cpu->foreign.n,
		            report_us(cpu->foreign.total), report_us(cpu->foreign.longest),
		            (unsigned long long)cpu->self.n);
	}
}

static void add_cause(struct cause_count *sum, const struct cause_count *one)
{
	if (one->breaks && (!sum->breaks || one->first < sum->first))
		sum->first = one->first;
	if (one->last > sum->last)
		sum->last = one->last;
	if (one->longest > sum->longest)
		sum->longest = one->longest;
	sum->breaks += one->breaks;
	sum->total += one->total;
	sum->seen += one->seen;
	sum->seen_total += one->seen_total;
}

struct cause_sum {
	const struct cause *cause;
	struct cause_count count;
};

static int by_time_lost(const void *a, const void *b)
{
	const struct cause_sum *x = a, *y = b;

	if (x->count.total != y->count.total)
		return x->count.total < y->count.total ? 1 : -1;
	return (x->count.seen < y->count.seen) - (x->count.seen > y->count.seen);
}

static void print_causes(FILE *out, const struct trace_watch *tw)
{
	_cleanup_free_ struct cause_sum *sums = xcalloc(n_causes, sizeof(*sums));
	size_t n = 0;

	for (size_t c = 0; c < n_causes; c++) {
		sums[n] = (struct cause_sum){ .cause = &causes[c] };
		for (size_t i = 0; i < tw->n_cpus; i++)
			add_cause(&sums[n].count, &tw->cpus[i].causes[c]);
		n += sums[n].count.seen != 0;
	}
	if (!n)
		return;
	qsort(sums, n, sizeof(*sums), by_time_lost);
	report_line(out, "causes",
	            "each break is charged once; \"seen\" counts parts of others, too");
	fprintf(out, "  %-14s%10s%10s%14s%12s%11s%11s\n", "", "seen", "breaks", "total us",
	        "worst us", "first s", "last s");
	for (size_t i = 0; i < n; i++) {
		const struct cause_count *count = &sums[i].count;

		fprintf(out, "  %-14s%10llu%10llu", sums[i].cause->code,
		        (unsigned long long)count->seen, (unsigned long long)count->breaks);
		if (count->breaks)
			fprintf(out, "%14.1f%12.1f%11.3f%11.3f", report_us(count->total),
			        report_us(count->longest), since(tw, count->first),
			        since(tw, count->last));
		fprintf(out, "\n");
		if (count->breaks && !sums[i].cause->self)
			report_line(out, "", "-> %s", sums[i].cause->remedy);
	}
}

#define PARTS_SHOWN 8u /* the JSON has more */

static void print_worst(FILE *out, struct trace_watch *tw)
{
	for (size_t i = 0; i < tw->n_worst; i++) {
		const struct isolation_break *brk = &tw->worst[i];
		_cleanup_free_ char *by = part_words(brk->by, &tw->symbols);

		report_line(out, i ? "" : "worst", "%.1f us on CPU %u at %.6f s: %s%s%s",
		            report_us(brk->end - brk->start), brk->cpu, since(tw, brk->start),
		            brk->by->cause->code, by, brk->cut ? " (not seen in full)" : "");
		if (brk->n_parts < 2)
			continue;
		for (size_t p = 0; p < brk->n_parts && p < PARTS_SHOWN; p++) {
			const struct part *part = &brk->parts[p];
			_cleanup_free_ char *words = part_words(part, &tw->symbols);

			report_line(out, "", "%*s+%.1f us: %.1f us %s%s", 2 + 2 * (int)part->depth,
			            "", report_us(part->start - brk->start),
			            report_us(part->end - part->start), part->cause->code, words);
		}
		if (brk->n_parts + brk->omitted > PARTS_SHOWN)
			report_line(out, "", "  and %zu more parts",
			            brk->n_parts + brk->omitted - PARTS_SHOWN);
	}
}

static void print_on_break(FILE *out, const struct run_report *report)
{
	const struct on_break *ob = &report->probe->on_break;
	_cleanup_free_ char *text = NULL;

	if (!on_break_asked(ob))
		return;
	xappend(&text, "%s: %llu breaks, done %llu times", report->req->probe.on_break,
	        (unsigned long long)ob->breaks, (unsigned long long)ob->taken);
	if (ob->taken)
		xappend(&text, ", %.1f ms after the break at the latest",
		        (double)ob->longest_delay / 1e6);
	if (ob->busy)
		xappend(&text, "; %llu times the last command still ran",
		        (unsigned long long)ob->busy);
	if (ob->late)
		xappend(&text, "; found too late, when the command had ended");
	if (ob->failed)
		xappend(&text, "; %llu failures", (unsigned long long)ob->failed);
	report_line(out, "on break", "%s", text);
	if (ob->action.kind == BREAK_ACTION_TRACE_OFF && ob->taken)
		report_line(out, "",
		            "tracing stays off, and the trace as it is: "
		            "echo 1 > /sys/kernel/tracing/tracing_on switches it on");
}

void report_probe_text(FILE *out, const struct run_report *report)
{
	struct trace_watch *tw;

	if (!was_asked(report))
		return;
	tw = &report->probe->watch;
	if (report->probe->follows && report->probe->threads.ended) {
		report_threads_text(out, &report->probe->threads);
		if (report->probe->unavailable)
			report_line(out, "trace events", "not watched%s: %s",
			            strcmp(report->req->probe.on_break, "none") != 0
			                    ? ", and probe.on_break not done"
			                    : "",
			            report->probe->unavailable);
		return;
	}
	if (!was_watched(report)) {
		report_line(out, "isolation", "not watched: %s",
		            report->probe->unavailable ? report->probe->unavailable
		                                       : "the command was not started");
		return;
	}
	print_cpus(out, tw, report->req);
	if (report->probe->holder)
		report_line(out, "trace events", "held by process %d: nothing was patched",
		            (int)report->probe->holder);
	else
		report_line(out, "trace events",
		            "patched into the kernel for this run, with hundreds of interrupts on "
		            "every CPU before its start and after its end; chisol --hold-trace "
		            "avoids that");
	print_on_break(out, report);
	print_causes(out, tw);
	print_worst(out, tw);
	if (!cpumask_empty(&tw->events.spared)) {
		_cleanup_free_ char *list = cpumask_list(&tw->events.spared);

		report_line(out, "not asked",
		            "CPUs %s, which are isolated or another run's: of what tasks there "
		            "send, the sender is not known",
		            list);
	}
	for (size_t i = 0; i < tw->events.formats.missing.n; i++)
		report_line(out, i ? "" : "not watched", "%s: this kernel does not have it",
		            tw->events.formats.missing.names[i]);
}

static json_t *json_number_or_null(bool known, uint64_t n)
{
	return known ? json_count(n) : json_null();
}

static json_t *json_part(const struct part *part, uint64_t origin, struct symbols *symbols)
{
	json_t *functions = json_array(), *sender = json_null();
	bool numbered = part->source == TRACE_DEVICE || part->source == TRACE_SOFTIRQ;

	for (size_t i = 0; i < PART_FUNCTIONS && part->functions[i]; i++) {
		const char *name = symbols_name(symbols, part->functions[i]);
		_cleanup_free_ char *address =
			xasprintf("0x%llx", (unsigned long long)part->functions[i]);

		json_array_append_new(functions, json_text(name ? name : address));
	}
	if (part->has_sender)
		sender = json_pack("{s:i, s:i, s:o, s:b}", "pid", (int)part->sender, "cpu",
		                   (int)part->sender_cpu, "name",
		                   json_text(*part->sender_name ? part->sender_name : NULL), "own",
		                   part->own_sender);
	return json_pack("{s:s, s:b, s:b, s:I, s:I, s:i, s:o, s:o, s:o, s:o, s:o}", "cause",
	                 part->cause->code, "self", part->self, "shared", part->shared, "start_ns",
	                 (json_int_t)(part->start - origin), "length_ns",
	                 (json_int_t)(part->end - part->start), "depth", (int)part->depth, "name",
	                 json_text(*part->text ? part->text : NULL), "number",
	                 json_number_or_null(numbered, part->number), "pid",
	                 json_number_or_null(part->source == TRACE_TASK, (uint64_t)part->pid),
	                 "functions", functions, "sender", sender);
}

static json_t *json_break(const struct isolation_break *brk, struct trace_watch *tw)
{
	json_t *parts = json_array();

	for (size_t i = 0; i < brk->n_parts; i++)
		json_array_append_new(parts, json_part(&brk->parts[i], tw->began, &tw->symbols));
	return json_pack("{s:i, s:I, s:I, s:s, s:b, s:b, s:o, s:I}", "cpu", (int)brk->cpu,
	                 "start_ns", (json_int_t)(brk->start - tw->began), "length_ns",
	                 (json_int_t)(brk->end - brk->start), "cause", brk->by->cause->code, "self",
	                 brk->by->self, "cut", brk->cut, "parts", parts, "omitted",
	                 (json_int_t)brk->omitted);
}

static json_t *json_break_count(const struct break_count *count)
{
	return json_pack("{s:o, s:o, s:o}", "count", json_count(count->n), "total_ns",
	                 json_count(count->total), "longest_ns", json_count(count->longest));
}

static json_t *json_causes(const struct watched_cpu *cpu, const struct trace_watch *tw)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n_causes; i++) {
		const struct cause_count *count = &cpu->causes[i];
		bool any = count->breaks;

		if (!count->seen)
			continue;
		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "cause",
		                  causes[i].code, "meaning", causes[i].meaning, "breaks",
		                  json_count(count->breaks), "total_ns", json_count(count->total),
		                  "longest_ns", json_count(count->longest), "first_ns",
		                  json_number_or_null(any, count->first - tw->began), "last_ns",
		                  json_number_or_null(any, count->last - tw->began), "seen",
		                  json_count(count->seen), "seen_total_ns",
		                  json_count(count->seen_total), "remedy", causes[i].remedy));
	}
	return list;
}

static json_t *json_watched_cpu(const struct watched_cpu *cpu, const struct trace_watch *tw,
                                const struct request *req)
{
	_cleanup_verdict_ struct verdict verdict;

	verdict_of_cpu(&verdict, cpu, tw, req);
	return json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "cpu",
	                 (int)cpu->cpu, "verdict", verdict_name(verdict.state), "reasons",
	                 json_strings(&verdict.reasons), "lost_events", json_count(cpu->lost),
	                 "unseen", json_count(cpu->unseen.n), "unseen_ns",
	                 json_count(cpu->unseen.total), "foreign", json_break_count(&cpu->foreign),
	                 "self", json_break_count(&cpu->self), "startup",
	                 json_break_count(&cpu->startup), "ending", json_break_count(&cpu->ending),
	                 "causes", json_causes(cpu, tw));
}

static json_t *json_on_break(const struct run_report *report)
{
	const struct on_break *ob = &report->probe->on_break;

	if (!on_break_asked(ob))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "action",
	                 json_text(report->req->probe.on_break), "breaks", json_count(ob->breaks),
	                 "taken", json_count(ob->taken), "busy", json_count(ob->busy), "late",
	                 json_count(ob->late), "failed", json_count(ob->failed), "longest_delay_ns",
	                 json_number_or_null(ob->taken, ob->longest_delay));
}

json_t *json_probe(const struct run_report *report)
{
	bool watched = was_watched(report), followed;
	const struct thread_probe *threads;
	struct trace_watch *tw;
	json_t *json, *cpus, *worst;

	if (!was_asked(report))
		return json_null();
	tw = &report->probe->watch;
	threads = &report->probe->threads;
	followed = report->probe->follows && threads->ended;
	cpus = json_array();
	worst = json_array();
	for (size_t i = 0; watched && i < tw->n_cpus; i++)
		json_array_append_new(cpus, json_watched_cpu(&tw->cpus[i], tw, report->req));
	for (size_t i = 0; watched && i < tw->n_worst; i++)
		json_array_append_new(worst, json_break(&tw->worst[i], tw));
	json = json_pack(
		"{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "mode",
		report->probe->follows ? "thread" : "watch", "verdict",
		verdict_name(probe_verdict(report->probe, report->req)), "unavailable",
		json_text(report->probe->unavailable), "began_ns",
		json_number_or_null(watched || followed, watched ? tw->began : threads->began),
		"window_ns",
		json_number_or_null(watched || followed, watched ? tw->ended - tw->began
	                                                         : threads->ended - threads->began),
		"cpus", cpus, "worst", worst, "events_missing",
		json_strings(&tw->events.formats.missing));
	json_object_set_new(
		json, "events_held_by",
		json_number_or_null(report->probe->holder, (uint64_t)report->probe->holder));
	json_object_set_new(json, "on_break", json_on_break(report));
	json_object_set_new(json, "cpus_spared", json_cpulist(&tw->events.spared));
	json_object_set_new(json, "threads", followed ? json_threads(threads) : json_null());
	return json;
}

json_t *json_stream_head(const struct run_report *report)
{
	json_t *head = json_document("chisol_breaks", 1);

	json_object_set_new(head, "run_id", json_text(report->run_id));
	return head;
}

json_t *json_stream_break(struct trace_watch *watch, const struct isolation_break *brk)
{
	return json_break(brk, watch);
}

json_t *json_stream_unseen(const struct trace_watch *watch, unsigned int cpu, uint64_t start,
                           uint64_t end)
{
	return json_pack("{s:b, s:i, s:I, s:I}", "unseen", true, "cpu", (int)cpu, "start_ns",
	                 (json_int_t)(start - watch->began), "length_ns",
	                 (json_int_t)(end - start));
}

void report_jsonl(FILE *out, const struct run_report *report)
{
	const struct trace_watch *tw = &report->probe->watch;
	bool watched = was_watched(report);

	json_t *end = json_pack("{s:s, s:o, s:o, s:o}", "verdict",
	                        verdict_name(probe_verdict(report->probe, report->req)), "began_ns",
	                        json_number_or_null(watched, tw->began), "window_ns",
	                        json_number_or_null(watched, tw->ended - tw->began), "failure",
	                        json_text(report->failure));

	json_dumpf(end, out, JSON_COMPACT);
	putc('\n', out);
	json_decref(end);
}
