/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "followed.h"

#include "follow.h"

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Counts only grow, so the later look knows more. What is not to count ends with the last look
 * before count_from, of those who looked before; or else with the first look at all.
 */
static void join_counts(struct record_thread *to, const struct record_thread *from,
                        uint64_t count_from)
{
	static const struct record_counts nothing;
	bool early = to->first_ns < count_from, other_early = from->first_ns < count_from;
	uint64_t *base = (uint64_t *)&to->base, *now = (uint64_t *)&to->now;
	const uint64_t *other_base = (const uint64_t *)&from->base;
	const uint64_t *other_now = (const uint64_t *)&from->now;

	/* A place that was claimed, and nobody looked. */
	if (!memcmp(&from->now, &nothing, sizeof(nothing)))
		return;
	if (!memcmp(&to->now, &nothing, sizeof(nothing)))
		to->base = from->base;
	for (size_t i = 0; i < sizeof(to->now) / sizeof(*now); i++) {
		if (early == other_early)
			base[i] = early ? most(base[i], other_base[i])
			                : least(base[i], other_base[i]);
		else if (other_early)
			base[i] = other_base[i];
		now[i] = most(now[i], other_now[i]);
	}
}

static void join_thread(struct record_thread *to, const struct record_thread *from,
                        uint64_t count_from)
{
	join_counts(to, from, count_from);
	if (from->last_ns > to->last_ns) {
		to->cpu = from->cpu;
		to->hot_cpu = from->flags & RECORD_HOT ? from->hot_cpu : to->hot_cpu;
		memcpy(to->name, from->name, sizeof(to->name));
	}
	to->flags |= from->flags;
	to->first_ns = least(to->first_ns, from->first_ns);
	to->last_ns = most(to->last_ns, from->last_ns);
	to->n_looks += from->n_looks;
	to->n_hot += from->n_hot;
	to->n_stacked += from->n_stacked;
	if (from->isolation > to->isolation) {
		to->isolation = from->isolation;
		to->isol_errno = from->isol_errno;
	}
}

/* The same thread: a number that was used again has another start; 0 is not known. */
static bool same_thread(const struct record_thread *a, const struct record_thread *b)
{
	return a->tid == b->tid && (!a->start || !b->start || a->start == b->start);
}

static void add_thread(struct followed *followed, size_t *room, const struct record_thread *thread)
{
	if (!thread->tid)
		return;
	for (size_t i = 0; i < followed->n_threads; i++) {
		if (same_thread(&followed->threads[i], thread)) {
			join_thread(&followed->threads[i], thread, followed->count_from);
			return;
		}
	}
	followed->threads =
		xgrow(followed->threads, followed->n_threads + 1, room, sizeof(*followed->threads));
	followed->threads[followed->n_threads++] = *thread;
}

/* The library's own threads: more than one, if it was ended and begun again. Not every look at one
 * knew what it is. */
static void drop_probes(struct followed *followed, uint32_t probe)
{
	size_t n = 0;

	for (size_t i = 0; i < followed->n_threads; i++) {
		const struct record_thread *t = &followed->threads[i];

		if (t->tid != probe && !(t->flags & RECORD_PROBE))
			followed->threads[n++] = *t;
	}
	followed->n_threads = n;
}

static void add_folded(struct record_folded *sum, const struct record_folded *more)
{
	sum->n += more->n;
	sum->n_hot += more->n_hot;
	follow_add(&sum->counts, &more->counts);
	follow_add(&sum->hot_counts, &more->hot_counts);
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_disturbance(const void *a, const void *b)
{
	const struct record_thread *x = a, *y = b;
	int order = compare(y->flags & RECORD_MAIN, x->flags & RECORD_MAIN);

	if (!order)
		order = compare(y->flags & RECORD_HOT, x->flags & RECORD_HOT);
	if (!order)
		order = compare(y->now.involuntary, x->now.involuntary);
	if (!order)
		order = compare(y->now.run_delay_ns, x->now.run_delay_ns);
	return order ? order : compare(x->tid, y->tid);
}

/* Entries of one kind from one place by one thread, which two claims at once can make, become one.
 */
static void join_calls(struct followed *followed)
{
	size_t n = 0;

	for (size_t i = 0; i < followed->n_calls; i++) {
		struct record_call *call = &followed->calls[i], *same = NULL;

		for (size_t j = 0; j < n && !same; j++)
			if (followed->calls[j].site == call->site &&
			    followed->calls[j].kind == call->kind &&
			    followed->calls[j].tid == call->tid)
				same = &followed->calls[j];
		followed->n_self += call->n;
		if (!same) {
			followed->calls[n++] = *call;
			continue;
		}
		same->n += call->n;
		same->first_ns = least(same->first_ns, call->first_ns);
		same->last_ns = most(same->last_ns, call->last_ns);
	}
	followed->n_calls = n;
}

static int by_count(const void *a, const void *b)
{
	const struct record_call *x = a, *y = b;

	return compare(y->n, x->n);
}

void followed_join(struct followed *followed, const struct record_keep *record,
                   const struct record_thread *own, const struct record_folded *own_folded)
{
	_cleanup_free_ struct record_thread *theirs = NULL;
	struct record_library library;
	size_t n, room = 0;

	record_read_library(record, &library);
	theirs = record_read_threads(record, &n);
	for (size_t i = 0; i < n; i++)
		add_thread(followed, &room, &theirs[i]);
	for (size_t i = 0; i < RECORD_THREADS; i++)
		add_thread(followed, &room, &own[i]);
	drop_probes(followed, library.follower_tid);
	for (size_t i = 0; i < followed->n_threads; i++) {
		struct record_thread *t = &followed->threads[i];

		follow_subtract(&t->now, &t->base);
		t->base = (struct record_counts){ 0 };
	}
	if (followed->n_threads)
		qsort(followed->threads, followed->n_threads, sizeof(*followed->threads),
		      by_disturbance);
	record_read_folded(record, &followed->folded);
	add_folded(&followed->folded, own_folded);
	followed->n_looks += library.n_looks;
	followed->n_omitted += library.threads_omitted;
	followed->calls_omitted = library.calls_omitted;
	followed->n_self += library.calls_omitted;
	followed->calls = record_read_calls(record, &followed->n_calls);
	join_calls(followed);
	qsort(followed->calls, followed->n_calls, sizeof(*followed->calls), by_count);
}

/* The place of a CPU among the columns of the table; -1: it has none. */
static long column_of(const struct interrupt_table *table, unsigned int cpu)
{
	long column = 0;

	if (!cpumask_test(&table->cpus, cpu))
		return -1;
	cpumask_for_each (other, &table->cpus) {
		if (other == (long)cpu)
			return column;
		column++;
	}
	return -1;
}

/* What munmap() and its like send: the names of x86; of arm64, the text of the row. */
static bool is_ipi(const struct interrupt_row *row)
{
	return !strcmp(row->id, "TLB") || !strcmp(row->id, "CAL") ||
	       !strcmp(row->name, "Function call interrupts");
}

static void count_interrupts(struct followed_cpu *cpu, const struct interrupt_table *table)
{
	long column = column_of(table, cpu->cpu);

	cpu->counted = column >= 0;
	for (size_t i = 0; cpu->counted && i < table->n_rows; i++) {
		const struct interrupt_row *row = &table->rows[i];

		if (row->kind == INTERRUPT_SOFTIRQ) {
			cpu->softirqs += row->counts[column];
			continue;
		}
		cpu->interrupts += row->counts[column];
		if (is_ipi(row))
			cpu->ipis += row->counts[column];
	}
}

static void count_threads(struct followed_cpu *cpu, const struct followed *followed)
{
	for (size_t i = 0; i < followed->n_threads; i++) {
		const struct record_thread *t = &followed->threads[i];

		if (!(t->flags & RECORD_HOT) || t->hot_cpu != cpu->cpu)
			continue;
		cpu->n_threads++;
		cpu->n_stacked += t->n_stacked;
		follow_add(&cpu->counts, &t->now);
	}
}

void followed_count_cpus(struct followed *followed, const struct cpumask *workload,
                         const struct interrupt_table *interrupts)
{
	followed->cpus = xcalloc(cpumask_weight(workload), sizeof(*followed->cpus));
	cpumask_for_each (number, workload) {
		struct followed_cpu *cpu = &followed->cpus[followed->n_cpus++];

		cpu->cpu = (unsigned int)number;
		count_interrupts(cpu, interrupts);
		count_threads(cpu, followed);
	}
	if (interrupts->unavailable)
		followed->interrupts_unavailable = xstrdup(interrupts->unavailable);
}

void followed_free(struct followed *followed)
{
	free(followed->threads);
	free(followed->calls);
	free(followed->cpus);
	free(followed->interrupts_unavailable);
	*followed = (struct followed){ 0 };
}

static void say_broken(struct verdict *verdict, const struct followed_cpu *cpu,
                       unsigned int allowed)
{
	verdict_say(verdict, VERDICT_BROKEN,
	            xasprintf("%llu interrupts and %llu preemptions, %u allowed",
	                      (unsigned long long)cpu->interrupts,
	                      (unsigned long long)cpu->counts.involuntary, allowed));
}

/* How often: whether an interrupt found the command running is not seen, and so not doubted. */
static void judge_number(struct verdict *verdict, const struct followed_cpu *cpu,
                         const struct followed *followed, const struct request *req)
{
	unsigned int allowed = req->verdict.max_breaks;
	uint64_t all = cpu->interrupts + cpu->counts.involuntary;
	uint64_t perhaps_own = 0;

	if (req->verdict.ignore & VERDICT_IGNORE_SELF && followed->n_self)
		perhaps_own = cpu->ipis;
	if (all - perhaps_own > allowed)
		say_broken(verdict, cpu, allowed);
	else if (all > allowed)
		verdict_say(verdict, VERDICT_INCONCLUSIVE,
		            xasprintf("%llu function call and TLB interrupts, which the command's "
		                      "own %llu calls may have sent",
		                      (unsigned long long)perhaps_own,
		                      (unsigned long long)followed->n_self));
}

/* How long: only of the time that other tasks took. */
static void judge_length(struct verdict *verdict, const struct followed_cpu *cpu,
                         const struct followed *followed, const struct request *req, bool budget)
{
	double ppm = followed->window_ns
	                     ? (double)cpu->counts.run_delay_ns * 1e6 / (double)followed->window_ns
	                     : 0;

	if (budget && ppm > req->verdict.budget_ppm)
		verdict_say(verdict, VERDICT_BROKEN,
		            xasprintf("%.1f ppm of the time lost to other tasks, %u ppm allowed",
		                      ppm, req->verdict.budget_ppm));
	else if (cpu->interrupts || cpu->counts.involuntary)
		verdict_say(verdict, VERDICT_INCONCLUSIVE,
		            xstrdup("how long interrupts take is seen by --probe=watch only"));
}

void followed_verdict_of_cpu(struct verdict *verdict, const struct followed_cpu *cpu,
                             const struct followed *followed, const struct request *req)
{
	bool gap = request_origin(req, "verdict.max_gap");
	bool budget = request_origin(req, "verdict.budget_ppm");

	*verdict = (struct verdict){ .state = VERDICT_KEPT };
	if (request_origin(req, "verdict.max_breaks") || (!gap && !budget))
		judge_number(verdict, cpu, followed, req);
	if (gap || budget)
		judge_length(verdict, cpu, followed, req, budget);
	if (!cpu->counted || followed->interrupts_unavailable)
		verdict_say(verdict, VERDICT_INCONCLUSIVE,
		            followed->interrupts_unavailable
		                    ? xstrdup(followed->interrupts_unavailable)
		                    : xstrdup("its interrupts are not counted: it was offline at "
		                              "the end"));
	if (!followed->n_looks)
		verdict_say(verdict, VERDICT_INCONCLUSIVE,
		            xstrdup("nobody could look at the command's threads"));
	if (followed->n_omitted)
		verdict_say(verdict, VERDICT_INCONCLUSIVE,
		            xasprintf("%llu threads were not followed",
		                      (unsigned long long)followed->n_omitted));
	if (verdict->state == VERDICT_KEPT && !cpu->n_threads)
		verdict_say(verdict, VERDICT_UNUSED,
		            xstrdup("no thread of the command was seen on it"));
}

enum verdict_state followed_verdict(const struct followed *followed, const struct request *req)
{
	enum verdict_state all = VERDICT_UNUSED;

	for (size_t i = 0; i < followed->n_cpus; i++) {
		_cleanup_verdict_ struct verdict one;

		followed_verdict_of_cpu(&one, &followed->cpus[i], followed, req);
		all = verdict_both(all, one.state);
	}
	return all == VERDICT_UNUSED ? VERDICT_INCONCLUSIVE : all;
}

const char *record_call_name(uint32_t kind)
{
	static const char *const names[RECORD_CALL_KINDS] = {
		[RECORD_MUNMAP] = "munmap",
		[RECORD_MREMAP] = "mremap",
		[RECORD_MPROTECT] = "mprotect",
		[RECORD_MADVISE] = "madvise",
		[RECORD_MEMBARRIER] = "membarrier",
		[RECORD_MLOCK] = "mlock",
		[RECORD_FORK] = "fork",
		[RECORD_SPAWN] = "posix_spawn",
		[RECORD_THREAD_CREATE] = "pthread_create",
		[RECORD_DLOPEN] = "dlopen",
		[RECORD_AFFINITY] = "sched_setaffinity",
	};

	return kind < RECORD_CALL_KINDS && names[kind] ? names[kind] : "?";
}
