/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_events.h"

#include "tracefs.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define REMOTE_RING ((size_t)256u * 1024)
#define CLOCK_STEP  1000000u /* ns; less is an interrupt between taking the time and writing it */
#define INIT_PID_NS 0xEFFFFFFCu /* inode of the first pid namespace (include/linux/proc_ns.h) */

/* A new task. */
struct trace_fork {
	uint64_t time;
	pid_t parent, child;
};

/* "cpu & CPUS{1-3}" (Linux 6.6), or "cpu == 1 || cpu == 2 || ..." */
static void filter_cpus(const struct trace_events *te, const char *field, int fd)
{
	_cleanup_free_ char *list = cpumask_list(&te->cpus), *filter = NULL;

	/* What is not filtered here is passed over when it is read. */
	filter = xasprintf("%s & CPUS{%s}", field, list);
	if (!ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
		return;
	free(take_ptr(&filter));
	cpumask_for_each (cpu, &te->cpus)
		xappend(&filter, "%s%s == %ld", filter ? " || " : "", field, cpu);
	ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter);
}

static void keep_fd(struct trace_events *te, int fd)
{
	te->fds = xgrow(te->fds, te->n_fds + 1, &te->fds_room, sizeof(*te->fds));
	te->fds[te->n_fds++] = fd;
}

static int cannot_open(const struct trace_format *format, unsigned int cpu, int rc,
                       struct error *err)
{
	return error_errno(
		err, -rc, "cannot open trace event %s:%s on CPU %u%s", format->system, format->name,
		cpu, rc == -EACCES || rc == -EPERM ? ", which takes root or CAP_PERFMON" : "");
}

static int open_on(struct trace_events *te, const struct ring *ring, struct error *err)
{
	bool watched = cpumask_test(&te->cpus, ring->cpu);

	for (size_t i = 0; i < te->formats.n; i++) {
		const struct trace_format *format = &te->formats.list[i];
		int fd;

		if (!watched && !format->remote)
			continue;
		fd = ring_add(ring, format->id);
		if (fd < 0)
			return cannot_open(format, ring->cpu, fd, err);
		keep_fd(te, fd);
		if (watched && format->filter_watched)
			filter_cpus(te, format->filter_watched, fd);
		else if (format->filter)
			filter_cpus(te, format->filter, fd);
	}
	return 0;
}

static int open_rings(struct trace_events *te, size_t ring_size, struct error *err)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;

	cpumask_copy(&cpus, &te->sys->machine.online);
	cpumask_andnot(&cpus, &te->spared);
	te->rings = xcalloc(cpumask_weight(&cpus), sizeof(*te->rings));
	cpumask_for_each (cpu, &cpus) {
		struct ring *ring = &te->rings[te->n_rings];
		bool watched = cpumask_test(&te->cpus, (unsigned int)cpu);
		int rc = ring_open(ring, (unsigned int)cpu, watched ? ring_size : REMOTE_RING, err);

		if (rc)
			return rc;
		te->n_rings++;
		rc = open_on(te, ring, err);
		if (rc)
			return rc;
		rc = ring_enable(ring);
		if (rc)
			return error_errno(err, -rc, "cannot start the trace events of CPU %ld",
			                   cpu);
	}
	return 0;
}

/* Events tell the numbers that tasks have in the first namespace. */
static int check_namespace(struct error *err)
{
	struct stat st;

	if (!stat("/proc/self/ns/pid", &st) && st.st_ino == INIT_PID_NS)
		return 0;
	return error_set(err, EPERM,
	                 "trace events tell the machine's process numbers, and chisol runs in a "
	                 "pid namespace (a container) with numbers of its own; run it outside");
}

/* Without switches of tasks nothing can be told, and who may not read the format of one event may
 * not read that of any. */
static int check_formats(const struct sysroot *tracefs, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	int rc = sysroot_read_limit(tracefs, "events/sched/sched_switch/format", SYSROOT_SMALL,
	                            &text, err);

	if (rc == -EACCES || rc == -EPERM)
		error_append(err, "; it takes root, or the right to read the files of tracefs");
	return rc;
}

/* Finds out which events there are. */
static int look_up(struct trace_events *te, struct error *err)
{
	_cleanup_sysroot_ struct sysroot tracefs = SYSROOT_INIT;
	int rc = tracefs_open(&tracefs, &te->sys->root, err);

	if (!rc)
		rc = check_formats(&tracefs, err);
	if (rc)
		return rc;
	trace_formats_load(&te->formats, &tracefs, te->sys->machine.arch);
	if (!strcmp(te->sys->machine.arch, "aarch64"))
		arm_irqs_load(&te->arm_irqs, &tracefs);
	return 0;
}

int trace_events_hold(struct trace_events *te, const struct system *sys, unsigned int cpu,
                      struct error *err)
{
	int rc;

	*te = (struct trace_events){ .sys = sys };
	rc = look_up(te, err);
	for (size_t i = 0; !rc && i < te->formats.n; i++) {
		int fd = ring_hold(cpu, te->formats.list[i].id);

		if (fd < 0)
			return cannot_open(&te->formats.list[i], cpu, fd, err);
		keep_fd(te, fd);
	}
	return rc;
}

int trace_events_open(struct trace_events *te, const struct system *sys, const struct cpumask *cpus,
                      const struct cpumask *spare, size_t ring_size, struct error *err)
{
	struct rlimit raised;
	int rc;

	*te = (struct trace_events){ .sys = sys };
	cpumask_copy(&te->cpus, cpus);
	cpumask_copy(&te->spared, &sys->machine.isolated);
	if (spare)
		cpumask_or(&te->spared, spare);
	cpumask_and(&te->spared, &sys->machine.online);
	cpumask_andnot(&te->spared, cpus);
	rc = check_namespace(err);
	if (!rc)
		rc = look_up(te, err);
	if (rc)
		return rc;
	/* One descriptor per event and CPU, and others are opened after them. */
	getrlimit(RLIMIT_NOFILE, &te->descriptors);
	raised = (struct rlimit){ te->descriptors.rlim_max, te->descriptors.rlim_max };
	setrlimit(RLIMIT_NOFILE, &raised);
	rc = open_rings(te, ring_size, err);
	/* What was opened so far takes descriptors, and disturbs, for nothing. */
	if (rc)
		trace_events_close(te);
	return rc;
}

void trace_events_before_exec(const struct trace_events *te)
{
	if (te->descriptors.rlim_max)
		setrlimit(RLIMIT_NOFILE, &te->descriptors);
}

void trace_events_close(struct trace_events *te)
{
	trace_events_before_exec(te);
	for (size_t i = 0; i < te->n_fds; i++)
		close(te->fds[i]);
	for (size_t i = 0; i < te->n_rings; i++)
		ring_close(&te->rings[i]);
	free(te->fds);
	free(te->rings);
	free(te->forks);
	trace_formats_free(&te->formats);
	senders_free(&te->senders);
	arm_irqs_free(&te->arm_irqs);
	cpumask_free(&te->cpus);
	cpumask_free(&te->spared);
	tasks_free(&te->tasks);
	*te = (struct trace_events){ 0 };
}

static void note_fork(struct trace_events *te, const struct ring_record *record)
{
	size_t at = te->n_forks;

	te->forks = xgrow(te->forks, te->n_forks + 1, &te->forks_room, sizeof(*te->forks));
	for (; at && te->forks[at - 1].time > record->time; at--)
		te->forks[at] = te->forks[at - 1];
	te->forks[at] = (struct trace_fork){ .time = record->time,
		                             .parent = (pid_t)record->ptid,
		                             .child = (pid_t)record->tid };
	te->n_forks++;
}

/* In the order of time, whichever CPU they are of: a thread that was made on one CPU makes others
 * on another. */
static void pass_forks(struct trace_events *te)
{
	for (size_t i = 0; i < te->n_forks; i++)
		tasks_forked(&te->tasks, te->forks[i].parent, te->forks[i].child);
	te->n_forks = 0;
}

/* First look at a ring: new tasks, and what was done to other CPUs. */
static void first_look(void *ctx, const struct ring *ring, const struct ring_record *record)
{
	struct trace_events *te = ctx;
	const struct trace_format *format;
	struct trace_event event = { .time = record->time, .cpu = ring->cpu };

	if (record->type == PERF_RECORD_FORK)
		note_fork(te, record);
	if (record->type == PERF_RECORD_LOST && !cpumask_test(&te->cpus, ring->cpu))
		te->lost_elsewhere += record->lost;
	if (record->type != PERF_RECORD_SAMPLE)
		return;
	format = trace_formats_find(&te->formats, record->data, record->size);
	if (!format || !format->remote)
		return;
	trace_format_decode(format, record->data, record->size, &event);
	if (cpumask_test(&te->cpus, event.target))
		senders_note(&te->senders, &event);
}

struct second_look {
	struct trace_events *te;
	trace_events_fn *fn;
	void *ctx;
	uint64_t last;
};

/* Tasks that were moved away from the CPU before the event. */
static void pass_moved(struct second_look *look, unsigned int cpu, uint64_t time)
{
	struct trace_event moved;

	while (senders_take_moved(&look->te->senders, cpu, time, &moved))
		look->fn(look->ctx, cpu, &moved, 0, moved.time);
}

static void second_look(void *ctx, const struct ring *ring, const struct ring_record *record)
{
	struct second_look *look = ctx;
	struct trace_events *te = look->te;
	const struct trace_format *format;
	struct trace_event event = { .cpu = ring->cpu };

	if (record->type == PERF_RECORD_LOST) {
		look->fn(look->ctx, ring->cpu, NULL, record->lost, record->time);
		return;
	}
	if (record->type != PERF_RECORD_SAMPLE)
		return;
	format = trace_formats_find(&te->formats, record->data, record->size);
	if (!format || format->remote)
		return;
	if (record->time + CLOCK_STEP < look->last)
		te->clock_steps++;
	look->last = event.time = record->time > look->last ? record->time : look->last;
	trace_format_decode(format, record->data, record->size, &event);
	if (!arm_irqs_settle(&te->arm_irqs, &event))
		return;
	if (event.op == TRACE_ARMED) {
		senders_note_armed(&te->senders, &event);
		return;
	}
	pass_moved(look, ring->cpu, event.time);
	senders_find(&te->senders, &event);
	look->fn(look->ctx, ring->cpu, &event, 0, event.time);
}

void trace_events_read(struct trace_events *te, uint64_t horizon, trace_events_fn *fn, void *ctx)
{
	for (size_t i = 0; i < te->n_rings; i++) {
		struct ring *ring = &te->rings[i];
		uint64_t cursor = ring->tail;
		bool full = ring_is_full(ring);

		ring_read(ring, &cursor, horizon, first_look, te);
		if (cpumask_test(&te->cpus, ring->cpu))
			continue;
		ring_consume(ring, cursor);
		te->lost_elsewhere += full;
	}
	pass_forks(te);
	for (size_t i = 0; i < te->n_rings; i++) {
		struct second_look look = { .te = te, .fn = fn, .ctx = ctx };
		struct ring *ring = &te->rings[i];
		uint64_t cursor = ring->tail;
		bool full = ring_is_full(ring);

		if (!cpumask_test(&te->cpus, ring->cpu))
			continue;
		ring_read(ring, &cursor, horizon, second_look, &look);
		ring_consume(ring, cursor);
		/* What was lost last is told with the next record, and there may be none. */
		if (full)
			fn(ctx, ring->cpu, NULL, 1, look.last);
	}
	senders_forget(&te->senders, horizon);
}
