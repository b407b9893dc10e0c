/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The causes of breaks: one row each, with how it is recognised and what helps. chisol-report(5)
 * has the same table, and a test holds the two against each other.
 */
#ifndef PROBE_CAUSE_H
#define PROBE_CAUSE_H

#include "symbols.h"
#include "trace_events.h"

#define PART_FUNCTIONS 4

/* One interval within a break: an interrupt, a softirq, another task's time on the CPU. */
struct part {
	enum trace_source source;
	uint64_t start, end; /* ns; equal: of no known length */
	unsigned int depth;  /* within how many others */
	char text[TRACE_TEXT];
	uint64_t number;
	uint64_t functions[PART_FUNCTIONS]; /* of the kernel, that ran; 0: no more */
	bool for_own[PART_FUNCTIONS];       /* the command alone had it run */
	pid_t pid;                          /* of the task, if it is one */
	bool own, kthread, real_time;       /* the task */
	bool has_sender, own_sender;        /* of an interrupt; if several, a foreign one */
	bool shared;                        /* ... and the command is another */
	pid_t sender;
	unsigned int sender_cpu;
	char sender_name[16];
	bool cut; /* its begin or its end was not seen */
	const struct cause *cause;
	bool self; /* the command's own doing */
};

enum cause_task {
	CAUSE_ANY,
	CAUSE_OWN,
	CAUSE_KTHREAD,
	CAUSE_REAL_TIME,
};

struct cause {
	const char *code, *meaning;
	const char *remedy;
	bool self; /* the command's own doing, unless the sender of the interrupt says otherwise */
	enum trace_source source;
	enum cause_task task;  /* TRACE_TASK only */
	const char *names;     /* patterns (fnmatch(3)) for part.text, with blanks; NULL: any */
	const char *functions; /* the same for the kernel's functions */
	bool armed;            /* a timer or irq_work: who armed it tells whose doing it is */
};

/* Ends with a NULL code. The first row that fits is the cause; every source has one for all. */
extern const struct cause causes[];
extern const unsigned int n_causes;

/* Sets part->cause and part->self. */
void cause_find(struct part *part, struct symbols *symbols);
/* "TIMER", "NET_RX"; "?" if there is no such number. */
const char *softirq_name(uint64_t number);

#endif
