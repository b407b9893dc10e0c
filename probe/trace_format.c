/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_format.h"

#include <errno.h>
#include <event-parse.h>

#include "../isolcore/cpumask.h"

#define IN_INTERRUPT 0x18u  /* common_flags: TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ */
#define RECORD_MAX   65535u /* no record of perf is longer */

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
	const char *arch; /* where the event is; NULL: everywhere */
	const char *filter, *filter_watched;
	bool remote;
	const char *field[N_FIELDS];
};

struct trace_fields {
	struct tep_format_field
		*list[N_FIELDS]; /* NULL: the event has none; owned by the tep_handle */
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
	{ "ipi", "ipi_entry", TRACE_ENTER, TRACE_IPI, .arch = ARM64,
	  .field = { [FIELD_NUMBER] = "reason" } },
	{ "ipi", "ipi_exit", TRACE_LEAVE, TRACE_IPI, .arch = ARM64,
	  .field = { [FIELD_NUMBER] = "reason" } },
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
	/* Of functions, those that a watched CPU is to run itself: others come by csd_queue_cpu. */
	{ "ipi", "ipi_send_cpu", TRACE_SENT, TRACE_IPI, .filter = "callback == 0 && cpu",
	  .filter_watched = "cpu", .remote = true,
	  .field = { [FIELD_TARGET] = "cpu", [FIELD_FUNCTION] = "callback" } },
	/* A function for another CPU, whether or not it takes an interrupt of its own. */
	{ "csd", "csd_queue_cpu", TRACE_SENT, TRACE_CALL_FUNCTION, .filter = "cpu", .remote = true,
	  .field = { [FIELD_TARGET] = "cpu", [FIELD_NUMBER] = "csd" } },
};

/* A field, if it is where fields can be. */
static struct tep_format_field *sound(struct tep_format_field *field)
{
	return field && field->offset >= 0 && field->size > 0 &&
	                       (size_t)field->offset + (size_t)field->size <= RECORD_MAX
	               ? field
	               : NULL;
}

static int find_fields(struct trace_fields *fields, struct tep_event *event,
                       const struct trace_row *row)
{
	fields->list[FIELD_PID] = sound(tep_find_common_field(event, "common_pid"));
	fields->list[FIELD_FLAGS] = sound(tep_find_common_field(event, "common_flags"));
	if (!fields->list[FIELD_PID] || !fields->list[FIELD_FLAGS])
		return -EINVAL;
	for (size_t i = FIELD_FLAGS + 1; i < N_FIELDS; i++) {
		if (!row->field[i])
			continue;
		fields->list[i] = sound(tep_find_field(event, row->field[i]));
		if (!fields->list[i])
			return -EINVAL;
	}
	return 0;
}

/* "\tfield:TYPE NAME[N];\toffset:N;\tsize:N;\tsigned:N;" */
static bool is_field(const char *line, size_t len)
{
	static const char start[] = "\tfield:",
			  letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_ *";
	const char *at = line + strlen(start);
	int end = -1;

	if (strncmp(line, start, strlen(start)) != 0)
		return false;
	for (at += strspn(at, letters); *at == '['; at += strspn(at, letters)) {
		at += 1 + strspn(at + 1, letters);
		if (*at++ != ']')
			return false;
	}
	sscanf(at, ";\toffset:%*5[0-9];\tsize:%*5[0-9];\tsigned:%*1[01];%n", &end);
	return end >= 0 && at + end == line + len;
}

/*
 * The part that tells the fields, as libtraceevent wants it; NULL: not as the kernel writes it.
 * Its parser takes every text for the kernel's, and crashes on a bracket that is not closed and on
 * an expression for printing that ends early. The latter is of no use here.
 */
static char *fields_of(const char *text)
{
	static const char format[] = "\nformat:\n", print[] = "print fmt:";
	const char *line = strstr(text, format);

	if (!line)
		return NULL;
	for (line += strlen(format); strncmp(line, print, strlen(print)) != 0; line++) {
		size_t len = strcspn(line, "\n");

		if (line[len] != '\n' || (len && !is_field(line, len)))
			return NULL;
		line += len;
	}
	return xasprintf("%.*s%s \"\"\n", (int)(line - text), text, print);
}

static int load_format(struct trace_formats *formats, const struct sysroot *tracefs,
                       const struct trace_row *row)
{
	_cleanup_free_ char *path = xasprintf("events/%s/%s/format", row->system, row->name),
			    *text = NULL, *of_fields = NULL;
	struct trace_fields fields = { 0 };
	struct trace_format *format;
	struct tep_event *event;

	if (sysroot_read_limit(tracefs, path, SYSROOT_SMALL, &text, NULL))
		return -ENOENT;
	of_fields = fields_of(text);
	if (!of_fields ||
	    tep_parse_format(formats->tep, &event, of_fields, strlen(of_fields), row->system) ||
	    !event || find_fields(&fields, event, row))
		return -EINVAL;
	formats->list =
		xgrow(formats->list, formats->n + 1, &formats->room, sizeof(*formats->list));
	format = &formats->list[formats->n++];
	*format = (struct trace_format){ .id = (unsigned int)event->id,
		                         .system = row->system,
		                         .name = row->name,
		                         .op = row->op,
		                         .source = row->source,
		                         .filter = row->filter,
		                         .filter_watched = row->filter_watched,
		                         .remote = row->remote,
		                         .fields = xcalloc(1, sizeof(*format->fields)) };
	*format->fields = fields;
	return 0;
}

void trace_formats_load(struct trace_formats *formats, const struct sysroot *tracefs,
                        const char *arch)
{
	*formats = (struct trace_formats){ .tep = tep_alloc() };
	if (!formats->tep)
		out_of_memory();
	tep_set_file_bigendian(formats->tep, tep_is_local_bigendian(formats->tep)
	                                             ? TEP_BIG_ENDIAN
	                                             : TEP_LITTLE_ENDIAN);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *name = xasprintf("%s:%s", rows[i].system, rows[i].name);

		if (rows[i].arch && strcmp(rows[i].arch, arch) != 0)
			continue;
		if (load_format(formats, tracefs, &rows[i]))
			namelist_add(&formats->missing, name);
	}
}

void trace_formats_free(struct trace_formats *formats)
{
	for (size_t i = 0; i < formats->n; i++)
		free(formats->list[i].fields);
	free(formats->list);
	if (formats->tep)
		tep_free(formats->tep);
	namelist_free(&formats->missing);
	*formats = (struct trace_formats){ 0 };
}

static uint64_t number_of(const struct trace_format *format, enum field field, const void *record,
                          size_t size)
{
	struct tep_format_field *f = format->fields->list[field];
	unsigned long long value = 0;

	if (!f || (size_t)f->offset + (size_t)f->size > size ||
	    tep_read_number_field(f, record, &value))
		return 0;
	return value;
}

/* Copies the bytes of a field, which may stand behind the fixed part (__data_loc). */
static void copy_text(const struct trace_format *format, const void *record, size_t size,
                      char text[TRACE_TEXT])
{
	struct tep_format_field *f = format->fields->list[FIELD_TEXT];
	size_t offset, len;
	uint32_t location;

	if (!f || (size_t)f->offset + (size_t)f->size > size)
		return;
	offset = (size_t)f->offset;
	len = (size_t)f->size;
	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		if (len != sizeof(location))
			return;
		memcpy(&location, (const char *)record + offset, sizeof(location));
		offset = location & 0xffff;
		len = location >> 16;
	}
	if (offset + len <= size)
		snprintf(text, TRACE_TEXT, "%.*s", (int)len, (const char *)record + offset);
}

const struct trace_format *trace_formats_find(const struct trace_formats *formats,
                                              const void *record, size_t size)
{
	uint16_t id;

	if (size < sizeof(id))
		return NULL;
	memcpy(&id, record, sizeof(id));
	for (size_t i = 0; i < formats->n; i++)
		if (formats->list[i].id == id)
			return &formats->list[i];
	return NULL;
}

void trace_format_decode(const struct trace_format *format, const void *record, size_t size,
                         struct trace_event *event)
{
	event->op = format->op;
	event->source = format->source;
	event->pid = (pid_t)number_of(format, FIELD_PID, record, size);
	event->in_interrupt = number_of(format, FIELD_FLAGS, record, size) & IN_INTERRUPT;
	event->number = number_of(format, FIELD_NUMBER, record, size);
	event->function = number_of(format, FIELD_FUNCTION, record, size);
	event->length = number_of(format, FIELD_LENGTH, record, size);
	event->other = (pid_t)number_of(format, FIELD_OTHER, record, size);
	event->prio = (int)number_of(format, FIELD_PRIO, record, size);
	event->state = number_of(format, FIELD_STATE, record, size);
	event->target = (unsigned int)number_of(format, FIELD_TARGET, record, size);
	copy_text(format, record, size, event->text);
}
