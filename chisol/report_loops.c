/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report_loops.h"

#include "../probe/figures.h"
#include "../probe/join_json.h"
#include "../probe/oslat.h"
#include "escape.h"

#include <sys/wait.h>

static void print_loop(FILE *out, const char *label, const struct loop *loop)
{
	struct figures f;

	if (!loop->record) {
		report_line(out, label, "thread %s (%d): what it left in the record makes no sense",
		            loop->name, (int)loop->tid);
		return;
	}
	figures_make(&f, loop->record, loop->record->cpu);
	report_line(out, label,
	            "thread %s (%d) on CPU %u: %llu gaps over %.1f us in %.3f s (%.1f us, longest "
	            "%.1f us); it was watched for %.2f %% of the time%s%s",
	            loop->name, (int)loop->tid, f.cpu, (unsigned long long)f.n,
	            report_us(clock_ns(&loop->record->scale, loop->record->threshold)),
	            (double)f.elapsed_ns / 1e9, report_us(f.total_ns), report_us(f.max_ns),
	            100 * f.coverage, loop->ended ? "" : "; it did not come to isolprobe_end()",
	            loop->record->cpu == loop->record->end_cpu || !loop->ended
	                    ? ""
	                    : "; it ended on another CPU");
}

static void add_count(char **list, const char *code, const struct join_count *count)
{
	if (count->n)
		xappend(list, "%s%s %llu (%.1f us)", *list ? ", " : "", code,
		        (unsigned long long)count->n, report_us(count->total));
}

static const struct join_gap *worst_gap(const struct join_cpu *c)
{
	const struct join_gap *gaps = c->worst.elements, *worst = NULL;

	for (uint32_t i = 0; i < c->worst.n; i++)
		if (!worst || gaps[i].length > worst->length)
			worst = &gaps[i];
	return worst;
}

static void print_worst_gap(FILE *out, const struct join_cpu *c, uint64_t began)
{
	const struct join_gap *worst = worst_gap(c);
	_cleanup_free_ char *words = worst ? join_words(worst) : NULL;

	if (worst)
		report_line(out, "", "worst: %.1f us at %.6f s: %s", report_us(worst->length),
		            ((double)worst->start - (double)began) / 1e9, words);
}

static void print_gaps(FILE *out, const char *label, const struct join_cpu *c, uint64_t began)
{
	const struct join_count kernel = join_kernels(c), foreign = join_foreign(c);
	const struct join_over over = join_over(c);
	_cleanup_free_ char *list = NULL;

	report_line(
		out, label,
		"CPU %u: %llu are the kernel's (%.2f %% of their time), %.2f %% of these with an "
		"event that says how; %llu are not the kernel's",
		c->cpu, (unsigned long long)kernel.n, join_percent(kernel.total, c->all.total),
		join_percent(c->named.n, kernel.n), (unsigned long long)foreign.n);
	for (size_t i = 0; i < n_causes; i++)
		add_count(&list, causes[i].code, &c->causes[i]);
	for (size_t i = 0; i < n_outsides; i++)
		add_count(&list, outsides[i].code, &c->outsides[i]);
	report_line(out, "", "%s", list);
	print_worst_gap(out, c, began);
	report_line(
		out, "",
		"%llu of %llu breaks that are over the threshold are in a gap%s; times agree to "
		"%.3f us",
		(unsigned long long)over.joined, (unsigned long long)over.n,
		c->lost ? "; some gaps came too fast to be joined" : "", report_us(c->off));
}

void report_loops_text(FILE *out, const struct run_report *report)
{
	const struct loop_watch *lw;
	const char *label = "gaps";

	if (!report->probe)
		return;
	lw = &report->probe->loops;
	for (size_t i = 0; i < lw->n_loops; i++)
		print_loop(out, i ? "" : "loops", &lw->loops[i]);
	if (!lw->n_loops)
		return;
	if (loop_watch_omitted(lw))
		report_line(out, "", "and %llu more, for which there was no room",
		            (unsigned long long)loop_watch_omitted(lw));
	if (!lw->joins)
		return;
	report_line(out, "",
	            "breaks count from the first isolprobe_begin(), %.3f s after the start",
	            (double)lw->gaps.watch->grace / 1e9);
	for (size_t i = 0; i < lw->gaps.join.n_cpus; i++) {
		const struct join_cpu *c = &lw->gaps.join.cpus[i];

		if (!c->all.n)
			continue;
		print_gaps(out, label, c, lw->gaps.watch->began);
		label = "";
	}
}

static json_t *json_class(const struct class_figures *c)
{
	return json_pack("{s:o, s:o, s:o}", "count", json_count(c->n), "total_ns",
	                 json_count(c->total_ns), "max_ns", json_count(c->max_ns));
}

static json_t *json_loop(const struct loop *loop, uint64_t origin)
{
	json_t *object = json_pack("{s:o, s:i, s:I, s:b}", "name",
	                           json_text(*loop->name ? loop->name : NULL), "tid",
	                           (int)loop->tid, "began_ns", (json_int_t)(loop->began - origin),
	                           "ended", loop->ended),
	       *classes;
	struct figures f;

	if (!loop->record) {
		json_object_set_new(object, "figures", json_null());
		return object;
	}
	figures_make(&f, loop->record, loop->record->cpu);
	classes = json_object();
	for (unsigned int i = 0; i < ISOLPROBE_CLASSES; i++)
		json_object_set_new(classes, class_keys[i], json_class(&f.by_class[i]));
	json_object_set_new(
		object, "figures",
		json_pack("{s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}",
	                  "cpu", (int)f.cpu, "end_cpu",
	                  (int)(loop->ended ? loop->record->end_cpu : f.cpu), "elapsed_ns",
	                  json_count(f.elapsed_ns), "busy_ns", json_count(f.busy_ns), "passes",
	                  loop->ended ? json_count(f.loops) : json_null(), "pass_ns",
	                  json_count(f.loop_median_ns), "threshold_ns",
	                  json_count(clock_ns(&loop->record->scale, loop->record->threshold)),
	                  "gaps", json_count(f.n), "total_ns", json_count(f.total_ns), "max_ns",
	                  json_count(f.max_ns), "quiet_ns", json_count(f.quiet_ns), "by_class",
	                  classes, "rseq", loop->record->rseq != NULL));
	return object;
}

static json_t *json_worst(const struct join_cpu *c, uint64_t origin)
{
	const struct join_gap *gaps = c->worst.elements;
	json_t *list = json_array();

	for (uint32_t i = 0; i < c->worst.n; i++) {
		json_t *gap = json_pack(
			"{s:I, s:o, s:s}", "start_ns", (json_int_t)(gaps[i].start - origin),
			"length_ns", json_count(gaps[i].length), "class", class_keys[gaps[i].what]);

		join_json_gap(gap, &gaps[i]);
		json_array_append_new(list, gap);
	}
	return list;
}

static json_t *json_gaps(const struct loop_watch *lw)
{
	json_t *list = json_array();

	for (size_t i = 0; i < lw->gaps.join.n_cpus; i++) {
		const struct join_cpu *c = &lw->gaps.join.cpus[i];
		json_t *object = join_json_cpu(&lw->gaps, i);

		json_object_set_new(object, "cpu", json_integer((json_int_t)c->cpu));
		json_object_set_new(object, "worst", json_worst(c, lw->gaps.watch->began));
		json_array_append_new(list, object);
	}
	return list;
}

json_t *json_loops(const struct run_report *report)
{
	const struct loop_watch *lw;
	json_t *threads;
	uint64_t origin;

	if (!report->probe || !report->probe->loops.n_loops)
		return json_null();
	lw = &report->probe->loops;
	origin = lw->joins ? lw->gaps.watch->began : report->probe->threads.began;
	threads = json_array();
	for (size_t i = 0; i < lw->n_loops; i++)
		json_array_append_new(threads, json_loop(&lw->loops[i], origin));
	return json_pack("{s:o, s:o, s:o, s:o}", "threads", threads, "omitted",
	                 json_count(loop_watch_omitted(lw)), "startup_ns",
	                 lw->joins ? json_count(lw->gaps.watch->grace) : json_null(), "cpus",
	                 lw->joins ? json_gaps(lw) : json_null());
}

/* As a shell tells it. */
static int return_code(const struct launch_result *result)
{
	if (!result->started)
		return result->exit_status;
	return WIFSIGNALED(result->wait_status) ? 128 + WTERMSIG(result->wait_status)
	                                        : WEXITSTATUS(result->wait_status);
}

static const char *no_loop(const struct run_report *report)
{
	if (!report->result->started)
		return "the command was not started";
	if (!report->probe->loops.n_loops)
		return "the command did not call isolprobe_begin(), see isolprobe(3)";
	return "no loop of the command came to isolprobe_end()";
}

void report_oslat_json(FILE *out, const struct run_report *report)
{
	const struct launch_result *result = report->result;
	const struct loop_watch *lw = &report->probe->loops;
	_cleanup_free_ char *command = oslat_command(report->req->argv);
	json_t *document = oslat_json(&(struct oslat_run){
		.program = "chisol",
		.command = command,
		.start = result->began.tv_sec,
		.end = result->ended.tv_sec,
		.return_code = return_code(result),
		.root = &report->sys->root,
	});
	bool any = false;

	for (size_t i = 0; i < lw->n_loops; i++) {
		const struct loop *loop = &lw->loops[i];
		struct figures f;

		/* How often it went round is told at its end only. */
		if (!loop->ended || !loop->record)
			continue;
		figures_make(&f, loop->record, loop->record->cpu);
		oslat_json_add(document, &f, loop->record);
		any = true;
	}
	json_object_set_new(json_object_get(document, "chisol"), "unavailable",
	                    json_text(any ? NULL : no_loop(report)));
	json_dumpf(document, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	putc('\n', out);
	json_decref(document);
}
