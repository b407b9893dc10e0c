/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_events.h"

#include "tracefs.h"

#include <errno.h>
#include <event-parse.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#define REMOTE_RING  ((size_t)256u * 1024)
#define SENT_MAX_AGE 100000000u /* ns; an interrupt that was sent longer ago is not this one */
#define CLOCK_STEP   1000000u /* ns; less is an interrupt between taking the time and writing it */
#define CLOSE_LONG   1000000  /* ns; closing took so long because it was the event's last user */
#define CLOSE_TURN   5000000  /* ns; opening all events takes about as long */
#define IN_INTERRUPT 0x18u    /* common_flags: TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ */
#define INIT_PID_NS  0xEFFFFFFCu /* inode of the first pid namespace (include/linux/proc_ns.h) */

/* What is read of an event. */
enum field {
	FIELD_PID,   /* common_pid, of every event */
	FIELD_FLAGS, /* common_flags, of every event */
	FIELD_NUMBER,
	FIELD_FUNCTION,
	FIELD_LENGTH,
	FIELD_TEXT,
	FIELD_OTHER,
	FIELD_PRIO,
	FIELD_STATE,
	FIELD_TARGET, /* the CPU that it is about */
	N_FIELDS,
};

struct trace_row {
	const char *system, *name;
	enum trace_op op;
	enum trace_source source;
	const char *arch;   /* where the event is; NULL: everywhere */
	const char *filter; /* what is compared with the watched CPUs; NULL: every event counts */
	bool remote;        /* happens on another CPU than the one that it is about */
	const char *field[N_FIELDS];
};

#define X86   "x86_64"
#define ARM64 "aarch64"
#define VECTOR(name_, source_)                                                  \
	{ "irq_vectors", name_ "_entry", TRACE_ENTER, source_, .arch = X86 },   \
	{                                                                       \
		"irq_vectors", name_ "_exit", TRACE_LEAVE, source_, .arch = X86 \
	}

/* Linux 4.18 to 6.18. The names of fields are the kernel's. */
static const struct trace_row rows[] = {
	VECTOR("local_timer", TRACE_TIMER),
	VECTOR("reschedule", TRACE_RESCHEDULE),
	VECTOR("call_function", TRACE_CALL_FUNCTION),
	VECTOR("call_function_single", TRACE_CALL_FUNCTION),
	VECTOR("thermal_apic", TRACE_THERMAL),
	VECTOR("x86_platform_ipi", TRACE_PLATFORM_IPI),
	VECTOR("spurious_apic", TRACE_SPURIOUS),
	VECTOR("error_apic", TRACE_ERROR),
	/* Its exit cannot be sampled: sampling itself uses irq_work. */
	{ "irq_vectors", "irq_work_entry", TRACE_POINT, TRACE_IRQ_WORK, .arch = X86 },
	{ "ipi", "ipi_entry", TRACE_ENTER, TRACE_IPI, .arch = ARM64 },
	{ "ipi", "ipi_exit", TRACE_LEAVE, TRACE_IPI, .arch = ARM64 },
	{ "irq", "irq_handler_entry", TRACE_ENTER, TRACE_DEVICE,
	  .field = { [FIELD_NUMBER] = "irq", [FIELD_TEXT] = "name" } },
	{ "irq", "irq_handler_exit", TRACE_LEAVE, TRACE_DEVICE,
	  .field = { [FIELD_NUMBER] = "irq" } },
	{ "irq", "softirq_entry", TRACE_ENTER, TRACE_SOFTIRQ, .field = { [FIELD_NUMBER] = "vec" } },
	{ "irq", "softirq_exit", TRACE_LEAVE, TRACE_SOFTIRQ, .field = { [FIELD_NUMBER] = "vec" } },
	{ "nmi", "nmi_handler", TRACE_POINT, TRACE_NMI,
	  .field = { [FIELD_FUNCTION] = "handler", [FIELD_LENGTH] = "delta_ns" } },
	{ "exceptions", "page_fault_user", TRACE_POINT, TRACE_FAULT, .field = { 0 } },
	{ "exceptions", "page_fault_kernel", TRACE_POINT, TRACE_FAULT, .field = { 0 } },
	{ "context_tracking", "user_exit", TRACE_ENTER, TRACE_KERNEL, .field = { 0 } },
	{ "context_tracking", "user_enter", TRACE_LEAVE, TRACE_KERNEL, .field = { 0 } },
	{ "timer", "hrtimer_start", TRACE_ARMED, TRACE_TIMER,
	  .field = { [FIELD_NUMBER] = "hrtimer" } },
	{ "timer", "hrtimer_expire_entry", TRACE_FUNCTION, TRACE_TIMER,
	  .field = { [FIELD_FUNCTION] = "function", [FIELD_NUMBER] = "hrtimer" } },
	{ "timer", "timer_expire_entry", TRACE_FUNCTION, TRACE_NOTHING,
	  .field = { [FIELD_FUNCTION] = "function" } },
	{ "workqueue", "workqueue_execute_start", TRACE_FUNCTION, TRACE_NOTHING,
	  .field = { [FIELD_FUNCTION] = "function" } },
	{ "csd", "csd_function_entry", TRACE_FUNCTION, TRACE_CALL_FUNCTION,
	  .field = { [FIELD_FUNCTION] = "func", [FIELD_NUMBER] = "csd" } },
	{ "sched", "sched_switch", TRACE_SWITCH, TRACE_TASK,
	  .field = { [FIELD_OTHER] = "next_pid",
	             [FIELD_TEXT] = "next_comm",
	             [FIELD_PRIO] = "next_prio",
	             [FIELD_STATE] = "prev_state" } },
	{ "sched", "sched_migrate_task", TRACE_MOVED, TRACE_MIGRATION, .filter = "orig_cpu",
	  .remote = true, .field = { [FIELD_OTHER] = "pid", [FIELD_TARGET] = "orig_cpu" } },
	/* Reschedule interrupts only: they have no function to run (smp_send_reschedule()). */
	{ "ipi", "ipi_send_cpu", TRACE_SENT, TRACE_RESCHEDULE, .filter = "callback == 0 && cpu",
	  .remote = true, .field = { [FIELD_TARGET] = "cpu" } },
	/* A function for another CPU, whether or not it takes an interrupt of its own. */
	{ "csd", "csd_queue_cpu", TRACE_SENT, TRACE_CALL_FUNCTION, .filter = "cpu", .remote = true,
	  .field = { [FIELD_TARGET] = "cpu", [FIELD_NUMBER] = "csd" } },
};

/* An event of this kernel. */
struct trace_format {
	const struct trace_row *row;
	unsigned int id;
	struct tep_format_field *field[N_FIELDS]; /* owned by te->tep */
};

/* A new task. */
struct trace_fork {
	uint64_t time;
	pid_t parent, child;
};

/* What was done to a watched CPU by another. */
struct trace_sent {
	uint64_t time;
	unsigned int to, from;
	enum trace_op op; /* TRACE_SENT or TRACE_MOVED */
	enum trace_source source;
	pid_t by, other;
	uint64_t number; /* of a function for another CPU: tells it from others on their way */
};

static int load_format(struct trace_events *te, const struct sysroot *tracefs,
                       const struct trace_row *row)
{
	_cleanup_free_ char *path = xasprintf("events/%s/%s/format", row->system, row->name),
			    *text = NULL;
	struct trace_format format = { .row = row };
	struct tep_event *event;

	if (sysroot_read_limit(tracefs, path, SYSROOT_SMALL, &text, NULL))
		return -ENOENT;
	if (tep_parse_format(te->tep, &event, text, strlen(text), row->system) || !event)
		return -EINVAL;
	format.id = (unsigned int)event->id;
	format.field[FIELD_PID] = tep_find_common_field(event, "common_pid");
	format.field[FIELD_FLAGS] = tep_find_common_field(event, "common_flags");
	if (!format.field[FIELD_PID] || !format.field[FIELD_FLAGS])
		return -EINVAL;
	for (size_t i = FIELD_FLAGS + 1; i < N_FIELDS; i++) {
		if (!row->field[i])
			continue;
		format.field[i] = tep_find_field(event, row->field[i]);
		if (!format.field[i])
			return -EINVAL;
	}
	te->formats =
		xgrow(te->formats, te->n_formats + 1, &te->formats_room, sizeof(*te->formats));
	te->formats[te->n_formats++] = format;
	return 0;
}

static void load_formats(struct trace_events *te, const struct sysroot *tracefs)
{
	te->tep = tep_alloc();
	if (!te->tep)
		mem_exhausted();
	tep_set_file_bigendian(te->tep, tep_is_local_bigendian(te->tep) ? TEP_BIG_ENDIAN
	                                                                : TEP_LITTLE_ENDIAN);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *name = xasprintf("%s:%s", rows[i].system, rows[i].name);

		if (rows[i].arch && strcmp(rows[i].arch, te->sys->machine.arch) != 0)
			continue;
		if (load_format(te, tracefs, &rows[i]))
			namelist_add(&te->missing, name);
	}
}

/* "cpu & CPUS{1-3}" (Linux 6.6), or "cpu == 1 || cpu == 2 || ..." */
static void filter_cpus(const struct trace_events *te, const struct trace_format *format, int fd)
{
	_cleanup_free_ char *list = cpumask_list(&te->cpus), *filter = NULL;

	/* What is not filtered here is passed over when it is read. */
	filter = xasprintf("%s & CPUS{%s}", format->row->filter, list);
	if (!ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
		return;
	free(take_ptr(&filter));
	cpumask_for_each (cpu, &te->cpus) {
		char *longer = xasprintf("%s%s%s == %ld", filter ? filter : "",
		                         filter ? " || " : "", format->row->filter, cpu);

		free(filter);
		filter = longer;
	}
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
	return error_errno(err, -rc, "cannot open trace event %s:%s on CPU %u%s",
	                   format->row->system, format->row->name, cpu,
	                   rc == -EACCES || rc == -EPERM ? ", which takes root or CAP_PERFMON"
	                                                 : "");
}

static int open_on(struct trace_events *te, const struct ring *ring, struct error *err)
{
	bool watched = cpumask_test(&te->cpus, ring->cpu);

	for (size_t i = 0; i < te->n_formats; i++) {
		const struct trace_row *row = te->formats[i].row;
		int fd;

		if (!watched && !row->remote)
			continue;
		fd = ring_add(ring, te->formats[i].id);
		if (fd < 0)
			return cannot_open(&te->formats[i], ring->cpu, fd, err);
		keep_fd(te, fd);
		if (row->filter)
			filter_cpus(te, &te->formats[i], fd);
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

/* Finds out which events there are. */
static int look_up(struct trace_events *te, struct error *err)
{
	_cleanup_sysroot_ struct sysroot tracefs = SYSROOT_INIT;
	int rc = tracefs_open(&tracefs, &te->sys->root, err);

	if (!rc)
		load_formats(te, &tracefs);
	return rc;
}

int trace_events_hold(struct trace_events *te, const struct system *sys, unsigned int cpu,
                      struct error *err)
{
	int rc;

	*te = (struct trace_events){ .sys = sys };
	rc = look_up(te, err);
	for (size_t i = 0; !rc && i < te->n_formats; i++) {
		int fd = ring_hold(cpu, te->formats[i].id);

		if (fd < 0)
			return cannot_open(&te->formats[i], cpu, fd, err);
		keep_fd(te, fd);
	}
	return rc;
}

int trace_events_open(struct trace_events *te, const struct system *sys, const struct cpumask *cpus,
                      const struct cpumask *spare, size_t ring_size, struct error *err)
{
	struct rlimit before, raised;
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
	/* One descriptor per event and CPU; the command gets the limit as it was. */
	getrlimit(RLIMIT_NOFILE, &before);
	raised = (struct rlimit){ before.rlim_max, before.rlim_max };
	setrlimit(RLIMIT_NOFILE, &raised);
	rc = open_rings(te, ring_size, err);
	setrlimit(RLIMIT_NOFILE, &before);
	return rc;
}

static void close_others(const struct trace_events *te)
{
	_cleanup_namelist_ struct namelist open = NAMELIST_INIT;
	_cleanup_free_ bool *owned = NULL;
	int last = -1;

	for (size_t i = 0; i < te->n_fds; i++)
		last = te->fds[i] > last ? te->fds[i] : last;
	for (size_t i = 0; i < te->n_rings; i++)
		last = te->rings[i].fd > last ? te->rings[i].fd : last;
	owned = xcalloc((size_t)last + 1, sizeof(*owned));
	for (size_t i = 0; i < te->n_fds; i++)
		owned[te->fds[i]] = true;
	for (size_t i = 0; i < te->n_rings; i++)
		owned[te->rings[i].fd] = true;
	sysroot_list(&te->sys->root, "/proc/self/fd", &open, NULL);
	for (size_t i = 0; i < open.n; i++) {
		long fd = strtol(open.names[i], NULL, 10);

		if (fd > last || !owned[fd])
			close((int)fd);
	}
}

void trace_events_leave(const struct trace_events *te)
{
	const struct timespec turn = { .tv_nsec = CLOSE_TURN };

	close_others(te);
	for (size_t i = 0; i < te->n_fds; i++) {
		uint64_t began = ring_clock();

		close(te->fds[i]);
		if (ring_clock() - began > CLOSE_LONG)
			nanosleep(&turn, NULL);
	}
}

void trace_events_close(struct trace_events *te)
{
	for (size_t i = 0; i < te->n_fds; i++)
		close(te->fds[i]);
	for (size_t i = 0; i < te->n_rings; i++)
		ring_close(&te->rings[i]);
	free(te->fds);
	free(te->rings);
	free(te->formats);
	free(te->sent);
	free(te->forks);
	free(te->timers);
	if (te->tep)
		tep_free(te->tep);
	cpumask_free(&te->cpus);
	cpumask_free(&te->spared);
	namelist_free(&te->missing);
	tasks_free(&te->tasks);
	*te = (struct trace_events){ 0 };
}

static uint64_t number_of(const struct trace_format *format, enum field field,
                          const struct ring_record *record)
{
	struct tep_format_field *f = format->field[field];
	unsigned long long value = 0;

	if (!f || (size_t)f->offset + (size_t)f->size > record->size ||
	    tep_read_number_field(f, record->data, &value))
		return 0;
	return value;
}

/* The bytes of a field, which may stand behind the fixed part (__data_loc). */
static const char *bytes_of(const struct trace_format *format, enum field field,
                            const struct ring_record *record, size_t *size)
{
	struct tep_format_field *f = format->field[field];
	size_t offset;

	*size = 0;
	if (!f || (size_t)f->offset + (size_t)f->size > record->size)
		return NULL;
	offset = (size_t)f->offset;
	*size = (size_t)f->size;
	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		uint32_t location;

		if (f->size != sizeof(location))
			return NULL;
		memcpy(&location, (const char *)record->data + offset, sizeof(location));
		offset = location & 0xffff;
		*size = location >> 16;
	}
	if (offset + *size > record->size)
		return NULL;
	return (const char *)record->data + offset;
}

static const struct trace_format *format_of(const struct trace_events *te,
                                            const struct ring_record *record)
{
	uint16_t id;

	if (record->size < sizeof(id))
		return NULL;
	memcpy(&id, record->data, sizeof(id));
	for (size_t i = 0; i < te->n_formats; i++)
		if (te->formats[i].id == id)
			return &te->formats[i];
	return NULL;
}

static void note_sent(struct trace_events *te, struct trace_sent sent)
{
	size_t at = te->n_sent;

	if (!cpumask_test(&te->cpus, sent.to))
		return;
	te->sent = xgrow(te->sent, te->n_sent + 1, &te->sent_room, sizeof(*te->sent));
	for (; at && te->sent[at - 1].time > sent.time; at--)
		te->sent[at] = te->sent[at - 1];
	te->sent[at] = sent;
	te->n_sent++;
}

static void note_remote(struct trace_events *te, const struct ring *ring,
                        const struct ring_record *record, const struct trace_format *format)
{
	struct trace_sent sent = {
		.time = record->time,
		.to = (unsigned int)number_of(format, FIELD_TARGET, record),
		.from = ring->cpu,
		.op = format->row->op,
		.source = format->row->source,
		.by = (pid_t)number_of(format, FIELD_PID, record),
		.other = (pid_t)number_of(format, FIELD_OTHER, record),
		.number = number_of(format, FIELD_NUMBER, record),
	};

	note_sent(te, sent);
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

	if (record->type == PERF_RECORD_FORK)
		note_fork(te, record);
	if (record->type == PERF_RECORD_LOST && !cpumask_test(&te->cpus, ring->cpu))
		te->lost_elsewhere += record->lost;
	if (record->type != PERF_RECORD_SAMPLE)
		return;
	format = format_of(te, record);
	if (format && format->row->remote)
		note_remote(te, ring, record, format);
}

struct second_look {
	struct trace_events *te;
	trace_events_fn *fn;
	void *ctx;
	uint64_t last;
};

static void drop_sent(struct trace_events *te, size_t i)
{
	te->n_sent--;
	memmove(&te->sent[i], &te->sent[i + 1], (te->n_sent - i) * sizeof(*te->sent));
}

/*
 * Of reschedule interrupts, the first that was sent since the last came: the others were sent while
 * it was on its way, and came with it. Functions are told apart by their number.
 */
static void find_sender(struct trace_events *te, struct trace_event *event)
{
	for (size_t i = 0; i < te->n_sent && te->sent[i].time <= event->time;) {
		const struct trace_sent *sent = &te->sent[i];

		if (sent->op != TRACE_SENT || sent->to != event->cpu ||
		    sent->source != event->source || sent->number != event->number) {
			i++;
			continue;
		}
		if (event->time - sent->time <= SENT_MAX_AGE &&
		    (!event->has_sender || event->source == TRACE_CALL_FUNCTION)) {
			event->has_sender = true;
			event->sender = sent->by;
			event->sender_cpu = sent->from;
		}
		drop_sent(te, i);
	}
}

/* Timers are on eight bytes at least. */
static struct trace_timer *timer_of(const struct trace_events *te, uint64_t timer)
{
	return &te->timers[(timer >> 3 ^ timer >> 15) % TRACE_TIMERS];
}

/* A timer that is armed again by an interrupt is still of who armed it first. */
static void note_armed(struct trace_events *te, const struct trace_event *event)
{
	if (!te->timers)
		te->timers = xcalloc(TRACE_TIMERS, sizeof(*te->timers));
	*timer_of(te, event->number) =
		(struct trace_timer){ .timer = event->number, .by = event->pid, .cpu = event->cpu };
}

/* Nobody is to blame for those that the idle task arms. */
static void find_armer(const struct trace_events *te, struct trace_event *event)
{
	const struct trace_timer *armed = te->timers ? timer_of(te, event->number) : NULL;

	if (!armed || armed->timer != event->number || !armed->by)
		return;
	event->has_sender = true;
	event->sender = armed->by;
	event->sender_cpu = armed->cpu;
}

/* Tasks that were moved away from the CPU before the event. */
static void pass_moved(struct second_look *look, unsigned int cpu, uint64_t time)
{
	struct trace_events *te = look->te;

	for (size_t i = 0; i < te->n_sent && te->sent[i].time <= time;) {
		const struct trace_sent sent = te->sent[i];
		struct trace_event event = { .time = sent.time,
			                     .cpu = cpu,
			                     .op = TRACE_MOVED,
			                     .source = TRACE_MIGRATION,
			                     .pid = sent.by,
			                     .other = sent.other,
			                     .has_sender = true,
			                     .sender = sent.by,
			                     .sender_cpu = sent.from };

		if (sent.op != TRACE_MOVED || sent.to != cpu) {
			i++;
			continue;
		}
		drop_sent(te, i);
		look->fn(look->ctx, cpu, &event, 0, event.time);
	}
}

static void second_look(void *ctx, const struct ring *ring, const struct ring_record *record)
{
	struct second_look *look = ctx;
	struct trace_events *te = look->te;
	const struct trace_format *format;
	struct trace_event event = { .cpu = ring->cpu };
	const char *text;
	size_t size;

	if (record->type == PERF_RECORD_LOST) {
		look->fn(look->ctx, ring->cpu, NULL, record->lost, record->time);
		return;
	}
	format = record->type == PERF_RECORD_SAMPLE ? format_of(te, record) : NULL;
	if (!format || format->row->remote)
		return;
	if (record->time + CLOCK_STEP < look->last)
		te->clock_steps++;
	look->last = event.time = record->time > look->last ? record->time : look->last;
	event.op = format->row->op;
	event.source = format->row->source;
	event.pid = (pid_t)number_of(format, FIELD_PID, record);
	event.number = number_of(format, FIELD_NUMBER, record);
	event.function = number_of(format, FIELD_FUNCTION, record);
	event.length = number_of(format, FIELD_LENGTH, record);
	event.other = (pid_t)number_of(format, FIELD_OTHER, record);
	event.prio = (int)number_of(format, FIELD_PRIO, record);
	event.state = number_of(format, FIELD_STATE, record);
	if (event.op == TRACE_ARMED) {
		if (!(number_of(format, FIELD_FLAGS, record) & IN_INTERRUPT))
			note_armed(te, &event);
		return;
	}
	text = bytes_of(format, FIELD_TEXT, record, &size);
	if (text)
		snprintf(event.text, sizeof(event.text), "%.*s", (int)size, text);
	pass_moved(look, ring->cpu, event.time);
	if (event.source == TRACE_RESCHEDULE || event.source == TRACE_CALL_FUNCTION)
		find_sender(te, &event);
	if (event.op == TRACE_FUNCTION && event.source == TRACE_TIMER)
		find_armer(te, &event);
	look->fn(look->ctx, ring->cpu, &event, 0, event.time);
}

static void forget_old_sent(struct trace_events *te, uint64_t horizon)
{
	size_t n = 0;

	while (n < te->n_sent && te->sent[n].time + SENT_MAX_AGE < horizon)
		n++;
	te->n_sent -= n;
	memmove(te->sent, te->sent + n, te->n_sent * sizeof(*te->sent));
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
	if (te->n_sent)
		forget_old_sent(te, horizon);
}
