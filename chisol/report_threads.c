/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report_threads.h"

#include "escape.h"
#include "report.h"

#define THREADS_SHOWN 10u /* the JSON has all that there are */
#define CALLS_SHOWN   10u

/* What nobody sees without trace events. */
static const char *const not_seen[] = {
	"whether an interrupt found the command running, who sent it, and how long it took",
	"what firmware (SMI) or a hypervisor took",
	"calls by system calls of the program's own, and those inside libc (free() of large blocks)",
};

static double seconds(const struct thread_probe *tp, uint64_t time)
{
	return time > tp->began ? (double)(time - tp->began) / 1e9 : 0;
}

static void print_cpus(FILE *out, const struct thread_probe *tp)
{
	const struct followed *followed = &tp->followed;

	for (size_t i = 0; i < followed->n_cpus; i++) {
		const struct followed_cpu *cpu = &followed->cpus[i];
		_cleanup_verdict_ struct verdict verdict;
		_cleanup_free_ char *words = NULL;

		followed_verdict_of_cpu(&verdict, cpu, followed, tp->req);
		words = verdict_words(&verdict);
		report_line(out, i ? "" : "isolation", "CPU %u %s", cpu->cpu, words);
		if (cpu->n_stacked)
			report_line(out, "", "CPU %u: threads of the command wait for each other",
			            cpu->cpu);
	}
}

static const char *isolation_words(const struct record_thread *t)
{
	static const char *const words[] = {
		[RECORD_ISOL_NOT_ASKED] = "",
		[RECORD_ISOL_PENDING] = "; task isolation pending (named by another thread)",
		[RECORD_ISOL_ACTIVE] = "; task isolation active",
		[RECORD_ISOL_REFUSED] = "; task isolation refused: ",
	};

	return words[t->isolation];
}

static void print_thread(FILE *out, const struct thread_probe *tp, const struct record_thread *t)
{
	bool on = record_cpus_test(tp->workload, t->cpu);

	report_line(
		out, "",
		"%s (%u)%s on %sCPU %u: preempted %llu times (waited %.1f us), slept %llu times, "
		"moved %llu times, %llu page faults%s%s%s",
		t->name, t->tid, t->flags & RECORD_ENDED ? ", ended," : "",
		on ? "" : "housekeeping ", t->cpu, (unsigned long long)t->now.involuntary,
		report_us(t->now.run_delay_ns), (unsigned long long)t->now.voluntary,
		(unsigned long long)t->now.migrations,
		(unsigned long long)(t->now.minor + t->now.major),
		t->n_stacked ? "; shared its CPU" : "", isolation_words(t),
		t->isolation == RECORD_ISOL_REFUSED ? strerror((int)t->isol_errno) : "");
}

static void print_threads(FILE *out, const struct thread_probe *tp)
{
	const struct followed *followed = &tp->followed;
	_cleanup_free_ char *observer = thread_probe_observer(tp);
	size_t all = followed->n_threads + (size_t)followed->folded.n, shown = 0;

	report_line(out, "threads", "%zu followed by %s", all, observer);
	for (; shown < followed->n_threads && shown < THREADS_SHOWN; shown++)
		print_thread(out, tp, &followed->threads[shown]);
	if (all > shown)
		report_line(out, "", "and %zu more", all - shown);
}

/* "app+0x1234 (work)", or the address alone. */
static char *site_words(const struct record_call *call)
{
	const char *base = strrchr(call->object, '/');

	if (!call->resolved)
		return xasprintf("0x%llx", (unsigned long long)call->site);
	return xasprintf("%s+0x%llx%s%s%s", base ? base + 1 : call->object,
	                 (unsigned long long)call->offset, *call->symbol ? " (" : "", call->symbol,
	                 *call->symbol ? ")" : "");
}

static const char *thread_name(const struct followed *followed, uint32_t tid)
{
	for (size_t i = 0; i < followed->n_threads; i++)
		if (followed->threads[i].tid == tid)
			return followed->threads[i].name;
	return "a thread that has ended";
}

static void print_calls(FILE *out, const struct thread_probe *tp)
{
	const struct followed *followed = &tp->followed;

	for (size_t i = 0; i < followed->n_calls && i < CALLS_SHOWN; i++) {
		const struct record_call *call = &followed->calls[i];
		_cleanup_free_ char *site = site_words(call);

		report_line(out, i ? "" : "own doing",
		            "%s %llu times by %s (%u) from %s, first at %.3f s, last at %.3f s",
		            record_call_name(call->kind), (unsigned long long)call->n,
		            thread_name(followed, call->tid), call->tid, site,
		            seconds(tp, call->first_ns), seconds(tp, call->last_ns));
	}
	if (followed->n_calls > CALLS_SHOWN)
		report_line(out, "", "and from %zu more places", followed->n_calls - CALLS_SHOWN);
}

void report_threads_text(FILE *out, const struct thread_probe *tp)
{
	if (!tp->ended)
		return;
	print_cpus(out, tp);
	print_threads(out, tp);
	print_calls(out, tp);
	if (tp->no_isolation)
		report_line(out, "", "task isolation of threads by name: %s", tp->no_isolation);
	for (size_t i = 0; i < ARRAY_SIZE(not_seen); i++)
		report_line(out, i ? "" : "not seen", "%s", not_seen[i]);
}

static json_t *json_counts(const struct record_counts *counts)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "involuntary",
	                 json_count(counts->involuntary), "voluntary",
	                 json_count(counts->voluntary), "run_delay_ns",
	                 json_count(counts->run_delay_ns), "migrations",
	                 json_count(counts->migrations), "minor_faults", json_count(counts->minor),
	                 "major_faults", json_count(counts->major));
}

static json_t *json_cpu(const struct thread_probe *tp, const struct followed_cpu *cpu)
{
	_cleanup_verdict_ struct verdict verdict;

	followed_verdict_of_cpu(&verdict, cpu, &tp->followed, tp->req);
	return json_pack("{s:i, s:s, s:o, s:o, s:b, s:o, s:o, s:o, s:b, s:o}", "cpu", (int)cpu->cpu,
	                 "verdict", verdict_name(verdict.state), "reasons",
	                 json_strings(&verdict.reasons), "threads", json_count(cpu->n_threads),
	                 "counted", cpu->counted, "interrupts", json_count(cpu->interrupts),
	                 "function_call_interrupts", json_count(cpu->ipis), "softirqs",
	                 json_count(cpu->softirqs), "stacked", cpu->n_stacked != 0, "counts",
	                 json_counts(&cpu->counts));
}

static json_t *json_isolation(const struct record_thread *t)
{
	static const char *const names[] = {
		[RECORD_ISOL_PENDING] = "pending",
		[RECORD_ISOL_ACTIVE] = "active",
		[RECORD_ISOL_REFUSED] = "refused",
	};

	return json_text(t->isolation ? names[t->isolation] : NULL);
}

static json_t *json_thread(const struct thread_probe *tp, const struct record_thread *t)
{
	return json_pack("{s:I, s:o, s:b, s:b, s:b, s:I, s:b, s:o, s:o, s:o, s:o, s:o}", "tid",
	                 (json_int_t)t->tid, "name", json_text(t->name), "main",
	                 (t->flags & RECORD_MAIN) != 0, "ended", (t->flags & RECORD_ENDED) != 0,
	                 "hot", (t->flags & RECORD_HOT) != 0, "cpu", (json_int_t)t->cpu,
	                 "on_workload", record_cpus_test(tp->workload, t->cpu), "looks",
	                 json_count(t->n_looks), "looks_on_workload", json_count(t->n_hot),
	                 "looks_stacked", json_count(t->n_stacked), "task_isolation",
	                 json_isolation(t), "counts", json_counts(&t->now));
}

static json_t *json_call(const struct thread_probe *tp, const struct record_call *call)
{
	_cleanup_free_ char *address = xasprintf("0x%llx", (unsigned long long)call->site);

	return json_pack("{s:s, s:o, s:I, s:s, s:o, s:o, s:o, s:o, s:o}", "call",
	                 record_call_name(call->kind), "count", json_count(call->n), "tid",
	                 (json_int_t)call->tid, "address", address, "object",
	                 json_text(call->resolved ? call->object : NULL), "offset",
	                 call->resolved ? json_count(call->offset) : json_null(), "symbol",
	                 json_text(*call->symbol ? call->symbol : NULL), "first_ns",
	                 json_count(call->first_ns > tp->began ? call->first_ns - tp->began : 0),
	                 "last_ns",
	                 json_count(call->last_ns > tp->began ? call->last_ns - tp->began : 0));
}

static json_t *json_library(const struct thread_probe *tp)
{
	_cleanup_free_ char *not_loaded = thread_probe_not_loaded(tp);
	struct record_library library;

	record_read_library(tp->record, &library);
	return json_pack(
		"{s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "loaded", !not_loaded, "reason",
		json_text(not_loaded), "version",
		json_text(*library.version ? library.version : NULL), "looks",
		json_count(library.n_looks), "longest_look_ns", json_count(library.longest_look_ns),
		"threads_created", json_count(library.n_created), "threads_ended",
		json_count(library.n_ended), "helper_group", library.placement == RECORD_PLACED);
}

json_t *json_threads(const struct thread_probe *tp)
{
	_cleanup_free_ char *observer = thread_probe_observer(tp);
	const struct followed *followed = &tp->followed;
	json_t *cpus = json_array(), *threads = json_array(), *calls = json_array(),
	       *unseen = json_array();

	for (size_t i = 0; i < followed->n_cpus; i++)
		json_array_append_new(cpus, json_cpu(tp, &followed->cpus[i]));
	for (size_t i = 0; i < followed->n_threads; i++)
		json_array_append_new(threads, json_thread(tp, &followed->threads[i]));
	for (size_t i = 0; i < followed->n_calls; i++)
		json_array_append_new(calls, json_call(tp, &followed->calls[i]));
	for (size_t i = 0; i < ARRAY_SIZE(not_seen); i++)
		json_array_append_new(unseen, json_text(not_seen[i]));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "observer",
	                 json_text(observer), "library", json_library(tp), "looks_from_outside",
	                 json_count(tp->n_looks), "cpus", cpus, "list", threads, "not_listed",
	                 json_count(followed->folded.n), "not_followed",
	                 json_count(followed->n_omitted), "own_calls", calls, "own_calls_omitted",
	                 json_count(followed->calls_omitted), "interrupts_unavailable",
	                 json_text(followed->interrupts_unavailable), "isolation_unavailable",
	                 json_text(tp->no_isolation), "not_seen", unseen);
}
