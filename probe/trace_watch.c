/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_watch.h"

#include <fnmatch.h>

#include "../isolcore/process.h"

static bool is_own(void *ctx, pid_t tid)
{
	const struct trace_watch *tw = ctx;

	return tasks_has(&tw->events.tasks, tid);
}

/* One that is gone is known by its name. */
static bool is_kthread(void *ctx, pid_t tid, const char *name)
{
	static const char *const patterns[] = { "kworker/*", "ksoftirqd/*", "migration/*", "rcu*",
		                                "irq/*" };
	struct trace_watch *tw = ctx;
	struct process process;

	if (!tasks_has(&tw->known, tid)) {
		if (process_read(&process, &tw->sys->root, tid, NULL)) {
			for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
				if (!fnmatch(patterns[i], name, 0))
					return true;
			return false;
		}
		tasks_add(&tw->known, tid);
		if (process.flags & PROCESS_KTHREAD)
			tasks_add(&tw->kthreads, tid);
	}
	return tasks_has(&tw->kthreads, tid);
}

static void task_name(void *ctx, pid_t tid, char name[16])
{
	const struct trace_watch *tw = ctx;
	struct process process;

	if (!tid)
		snprintf(name, 16, "idle");
	else if (process_read(&process, &tw->sys->root, tid, NULL))
		*name = '\0';
	else
		snprintf(name, 16, "%.15s", process.comm);
}

static struct watched_cpu *find_cpu(const struct trace_watch *tw, unsigned int cpu)
{
	for (size_t i = 0; i < tw->n_cpus; i++)
		if (tw->cpus[i].cpu == cpu)
			return &tw->cpus[i];
	return NULL;
}

static struct cause_count *count_of(const struct watched_cpu *cpu, const struct cause *cause)
{
	return &cpu->causes[cause - causes];
}

static void on_part(void *ctx, unsigned int cpu, const struct part *part)
{
	const struct trace_watch *tw = ctx;
	struct cause_count *count = count_of(find_cpu(tw, cpu), part->cause);

	if (part->start < tw->began)
		return;
	count->seen++;
	count->seen_total += part->end - part->start;
}

static void add_break(struct break_count *count, uint64_t length)
{
	count->n++;
	count->total += length;
	if (length > count->longest)
		count->longest = length;
}

/* A sorted list, of which the shortest falls out. */
static void keep_worst(struct trace_watch *tw, const struct isolation_break *brk)
{
	struct isolation_break copy;
	uint64_t length = brk->end - brk->start;
	size_t at = tw->n_worst;

	while (at && length > tw->worst[at - 1].end - tw->worst[at - 1].start)
		at--;
	if (at == WATCH_WORST)
		return;
	if (tw->n_worst == WATCH_WORST)
		free(tw->worst[--tw->n_worst].parts);
	break_copy(&copy, brk);
	memmove(&tw->worst[at + 1], &tw->worst[at], (tw->n_worst - at) * sizeof(*tw->worst));
	tw->worst[at] = copy;
	tw->n_worst++;
}

static void on_break(void *ctx, const struct isolation_break *brk)
{
	struct trace_watch *tw = ctx;
	struct watched_cpu *cpu = find_cpu(tw, brk->cpu);
	struct cause_count *count = count_of(cpu, brk->by->cause);
	uint64_t length = brk->end - brk->start;

	for (size_t i = 0; i < tw->n_listeners; i++)
		tw->listeners[i].on_break(tw->listeners[i].ctx, brk);
	if (brk->start < tw->began)
		return;
	if (brk->start < tw->began + tw->grace) {
		add_break(&cpu->startup, length);
		return;
	}
	if (brk->ending) {
		add_break(&cpu->ending, length);
		return;
	}
	if (!count->breaks++)
		count->first = brk->start;
	count->last = brk->start;
	count->total += length;
	if (length > count->longest)
		count->longest = length;
	add_break(brk->by->self ? &cpu->self : &cpu->foreign, length);
	if (!brk->by->self)
		keep_worst(tw, brk);
}

static void on_unseen(void *ctx, unsigned int cpu, uint64_t start, uint64_t end)
{
	const struct trace_watch *tw = ctx;

	if (end <= tw->began)
		return;
	if (start < tw->began)
		start = tw->began;
	add_break(&find_cpu(tw, cpu)->unseen, end - start);
	for (size_t i = 0; i < tw->n_listeners; i++)
		if (tw->listeners[i].on_unseen)
			tw->listeners[i].on_unseen(tw->listeners[i].ctx, cpu, start, end);
}

int trace_watch_open(struct trace_watch *tw, const struct system *sys, const struct cpumask *cpus,
                     const struct cpumask *spare, size_t ring_size, struct error *err)
{
	*tw = (struct trace_watch){ .sys = sys, .symbols = { .root = &sys->root } };
	tw->env = (struct break_env){ .ctx = tw,
		                      .symbols = &tw->symbols,
		                      .is_own = is_own,
		                      .is_kthread = is_kthread,
		                      .task_name = task_name,
		                      .on_part = on_part,
		                      .on_break = on_break,
		                      .on_unseen = on_unseen };
	tw->cpus = xcalloc(cpumask_weight(cpus), sizeof(*tw->cpus));
	cpumask_for_each (cpu, cpus) {
		struct watched_cpu *w = &tw->cpus[tw->n_cpus++];

		w->cpu = (unsigned int)cpu;
		w->causes = xcalloc(n_causes, sizeof(*w->causes));
		break_tracker_init(&w->tracker, w->cpu, &tw->env);
	}
	return trace_events_open(&tw->events, sys, cpus, spare, ring_size, err);
}

void trace_watch_listen(struct trace_watch *tw, const struct trace_listener *listener)
{
	tw->listeners = xgrow(tw->listeners, tw->n_listeners + 1, &tw->listeners_room,
	                      sizeof(*tw->listeners));
	tw->listeners[tw->n_listeners++] = *listener;
}

static void on_event(void *ctx, unsigned int cpu, const struct trace_event *event, uint64_t lost,
                     uint64_t time)
{
	struct trace_watch *tw = ctx;
	struct watched_cpu *w = find_cpu(tw, cpu);

	if (event) {
		break_tracker_event(&w->tracker, event);
		w->used |= w->tracker.state == BREAK_ON && time >= tw->began;
	} else {
		break_tracker_lost(&w->tracker);
		w->lost += lost;
	}
}

static void look_for_offline(struct trace_watch *tw)
{
	_cleanup_cpumask_ struct cpumask online = CPUMASK_INIT;
	_cleanup_free_ char *text = NULL;

	if (sysroot_read(&tw->sys->root, "/sys/devices/system/cpu/online", &text, NULL) ||
	    cpumask_parse_list(&online, text))
		return;
	for (size_t i = 0; i < tw->n_cpus; i++)
		tw->cpus[i].went_offline |= !cpumask_test(&online, tw->cpus[i].cpu);
}

static void read_until(struct trace_watch *tw, uint64_t horizon)
{
	trace_events_read(&tw->events, horizon, on_event, tw);
	for (size_t i = 0; i < tw->n_cpus; i++)
		break_tracker_passed(&tw->cpus[i].tracker, horizon);
}

void trace_watch_start(struct trace_watch *tw, pid_t pid, uint64_t time)
{
	tw->events.tasks.first = pid;
	tasks_add(&tw->events.tasks, pid);
	tw->began = time;
}

static void drop_worst(struct trace_watch *tw)
{
	for (size_t i = 0; i < tw->n_worst; i++)
		free(tw->worst[i].parts);
	tw->n_worst = 0;
}

void break_count_add(struct break_count *sum, const struct break_count *more)
{
	sum->n += more->n;
	sum->total += more->total;
	if (more->longest > sum->longest)
		sum->longest = more->longest;
}

void trace_watch_restart(struct trace_watch *tw, uint64_t time)
{
	tw->grace = time > tw->began ? time - tw->began : 0;
	for (size_t i = 0; i < tw->n_cpus; i++) {
		struct watched_cpu *w = &tw->cpus[i];

		break_count_add(&w->startup, &w->foreign);
		break_count_add(&w->startup, &w->self);
		w->foreign = w->self = w->unseen = (struct break_count){ 0 };
		memset(w->causes, 0, n_causes * sizeof(*w->causes));
	}
	drop_worst(tw);
}

void trace_watch_read(struct trace_watch *tw)
{
	read_until(tw, monotonic_ns() - TRACE_SETTLE_NS);
	look_for_offline(tw);
}

void trace_watch_finish(struct trace_watch *tw, uint64_t time)
{
	tw->ended = time;
	read_until(tw, tw->ended);
	for (size_t i = 0; i < tw->n_cpus; i++)
		break_tracker_end(&tw->cpus[i].tracker, tw->ended);
	look_for_offline(tw);
}

void trace_watch_free(struct trace_watch *tw)
{
	trace_events_close(&tw->events);
	symbols_free(&tw->symbols);
	for (size_t i = 0; i < tw->n_cpus; i++) {
		break_tracker_free(&tw->cpus[i].tracker);
		free(tw->cpus[i].causes);
	}
	drop_worst(tw);
	free(tw->cpus);
	free(tw->listeners);
	tasks_free(&tw->known);
	tasks_free(&tw->kthreads);
	*tw = (struct trace_watch){ 0 };
}
