/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's trace events: which are of use, what they mean for a task that is not to be
 * interrupted, and what a record of one tells.
 *
 * Formats differ between kernels and are read from tracefs through libtraceevent. An event that the
 * kernel does not have, or has without a field that is needed, is listed and otherwise missed by
 * nobody.
 */
#ifndef PROBE_TRACE_FORMAT_H
#define PROBE_TRACE_FORMAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../isolcore/sysroot.h"

/* What takes the CPU from the task. */
enum trace_source {
	TRACE_NOTHING,
	TRACE_TIMER, /* local timer interrupt */
	TRACE_RESCHEDULE,
	TRACE_CALL_FUNCTION, /* another CPU wants a function run here */
	TRACE_IRQ_WORK,
	TRACE_THERMAL,
	TRACE_PLATFORM_IPI,
	TRACE_SPURIOUS,
	TRACE_ERROR,
	TRACE_IPI, /* of another kind, or one that is not known (arm64); sent: see senders.h */
	TRACE_DEVICE,
	TRACE_SOFTIRQ,
	TRACE_NMI,
	TRACE_FAULT,
	TRACE_KERNEL, /* user mode left: system call or exception */
	TRACE_TASK,   /* another task */
	TRACE_SLEEP,  /* the command waits */
	TRACE_MIGRATION,
};

enum trace_op {
	TRACE_ENTER,
	TRACE_LEAVE,
	TRACE_POINT,    /* of no known length, or of one that the event tells */
	TRACE_SWITCH,   /* to another task */
	TRACE_MOVED,    /* a task that waits was moved to another CPU */
	TRACE_FUNCTION, /* tells what the innermost interval does */
	TRACE_SENT,     /* to another CPU: an interrupt, or a function to run; not passed on */
	TRACE_ARMED,    /* a timer was, by the current task; not passed on */
};

#define TRACE_TEXT 32

struct trace_event {
	uint64_t time;
	unsigned int cpu;
	enum trace_op op;
	enum trace_source source;
	pid_t pid;             /* the current task; of TRACE_SWITCH the one before */
	uint64_t number;       /* interrupt or softirq number; of TRACE_IPI see arm_irq.h */
	uint64_t function;     /* a kernel address; 0: none */
	uint64_t length;       /* TRACE_POINT, ns */
	char text[TRACE_TEXT]; /* device, or the next task's name */
	pid_t other;           /* TRACE_SWITCH: the next task; TRACE_MOVED: the one moved */
	int prio;              /* of the next task: under 100 is real-time (kernel's scale) */
	uint64_t state;        /* TRACE_SWITCH: prev_state; 0: could have gone on */
	unsigned int target;   /* TRACE_SENT, TRACE_MOVED: the CPU that it is about */
	bool in_interrupt;     /* the current task has nothing to do with it */
	bool has_sender; /* who sent the interrupt or function (Linux 6.4), or armed the timer: */
	pid_t sender;
	unsigned int sender_cpu;
	bool has_other_sender; /* who sent one that came with it: the last of them */
	pid_t other_sender;
	unsigned int other_sender_cpu;
};

/* An event of this kernel. */
struct trace_format {
	unsigned int id;
	const char *system, *name;
	enum trace_op op;
	enum trace_source source;
	const char *filter; /* what is compared with the watched CPUs; NULL: every event counts */
	const char *filter_watched; /* the same for events on a watched CPU; NULL: as elsewhere */
	bool remote;                /* happens on another CPU than the one that it is about */
	struct trace_fields *fields;
};

struct trace_formats {
	struct tep_handle *tep;
	struct trace_format *list;
	size_t n, room;
	struct namelist missing; /* "system:event" */
};

/* Reads what there is for machines of this kind ("x86_64"). */
void trace_formats_load(struct trace_formats *formats, const struct sysroot *tracefs,
                        const char *arch);
void trace_formats_free(struct trace_formats *formats);
/* The format of a record, or NULL. */
const struct trace_format *trace_formats_find(const struct trace_formats *formats,
                                              const void *record, size_t size);
/* Fills in what the record tells; what is cut off is 0. Time, CPU and sender are left to the
 * caller. */
void trace_format_decode(const struct trace_format *format, const void *record, size_t size,
                         struct trace_event *event);

#endif
