/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What hit given CPUs between two looks: interrupts and softirqs, by name, from /proc/interrupts
 * and /proc/softirqs (proc_pid(5), Documentation/filesystems/proc.rst). Reading them walks kernel
 * tables on the reading CPU and sends nothing to the others. Either file may be missing or masked
 * in a container: then unavailable says so and its rows are missing.
 */
#ifndef ISOLCORE_INTERRUPTS_H
#define ISOLCORE_INTERRUPTS_H

#include "machine.h"

enum interrupt_kind {
	INTERRUPT_DEVICE,
	INTERRUPT_ARCH,
	INTERRUPT_SOFTIRQ
};

struct interrupt_row {
	enum interrupt_kind kind;
	char *id;   /* "24", "LOC", "TIMER" */
	char *name; /* "virtio1-req.0", "Local timer interrupts"; "" if there is none */
	unsigned long long *counts; /* one per CPU of interrupt_table.cpus, in ascending order */
};

struct interrupt_table {
	struct cpumask
		cpus; /* the CPUs that the counts are of: those asked for that have a column */
	struct interrupt_row *rows;
	size_t n_rows, room;
	char *unavailable; /* NULL, or a sentence that names the file and why */
};
#define INTERRUPT_TABLE_INIT \
	{                    \
		0            \
	}

/*
 * Reads the counts of the CPUs asked for. Rows without any are left out, and so are those that are
 * not of one CPU each (ERR, MIS). -EINVAL: a file is there and is not such a table.
 */
int interrupts_read(struct interrupt_table *table, const struct system *sys,
                    const struct cpumask *cpus, struct error *err);
/* Leaves in after the increase since before, rows without any removed. A row that is new counts
 * from 0; a counter that went backwards (32-bit wrap, freed and reused number) counts from 0. */
void interrupts_subtract(struct interrupt_table *after, const struct interrupt_table *before);
void interrupts_free(struct interrupt_table *table);
#define _cleanup_interrupts_ _cleanup_(interrupts_free)

#endif
