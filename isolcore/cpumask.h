/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A set of CPU numbers without a fixed upper bound.
 *
 * CPUMASK_INIT is the empty set and owns no memory. CPUs beyond the allocated words read as not
 * set. Numbers are limited only by CPUMASK_MAX, a sanity bound far above every kernel's NR_CPUS
 * (8192 on x86_64, Documentation/admin-guide/kernel-parameters.txt), which keeps hostile input from
 * asking for gigabytes; callers check it before cpumask_set().
 */
#ifndef ISOLCORE_CPUMASK_H
#define ISOLCORE_CPUMASK_H

#include <stdbool.h>
#include <stddef.h>
#include <sched.h>
#include <sys/types.h>

#include "error.h"

#define CPUMASK_MAX 1048575u /* highest CPU number that a mask takes */

struct cpumask {
	unsigned long *words;
	size_t n_words;
};

#define CPUMASK_INIT    \
	{               \
		NULL, 0 \
	}

void cpumask_free(struct cpumask *m);
#define _cleanup_cpumask_ _cleanup_(cpumask_free)

void cpumask_set(struct cpumask *m, unsigned int cpu); /* cpu <= CPUMASK_MAX */
void cpumask_set_range(struct cpumask *m, unsigned int first, unsigned int last);
void cpumask_clear_cpu(struct cpumask *m, unsigned int cpu);
bool cpumask_test(const struct cpumask *m, unsigned int cpu);

void cpumask_copy(struct cpumask *dst, const struct cpumask *src);
void cpumask_or(struct cpumask *dst, const struct cpumask *src);     /* dst |= src */
void cpumask_and(struct cpumask *dst, const struct cpumask *src);    /* dst &= src */
void cpumask_andnot(struct cpumask *dst, const struct cpumask *src); /* dst &= ~src */
bool cpumask_equal(const struct cpumask *a, const struct cpumask *b);
bool cpumask_intersects(const struct cpumask *a, const struct cpumask *b);
bool cpumask_subset(const struct cpumask *a, const struct cpumask *b); /* a in b */
bool cpumask_empty(const struct cpumask *m);
unsigned int cpumask_weight(const struct cpumask *m);
/* The first CPU >= from, or -1. */
long cpumask_next(const struct cpumask *m, long from);
/* The highest CPU, or -1. */
long cpumask_last(const struct cpumask *m);

#define cpumask_for_each(cpu, m) \
	for (long cpu = cpumask_next(m, 0); cpu >= 0; cpu = cpumask_next(m, cpu + 1))

/* The kernel's list form, "0-3,7"; "" for the empty set. The caller frees it. */
char *cpumask_list(const struct cpumask *m);
/* The kernel's mask form, "f,ffffffff" (groups of 32 bits, as /proc/irq/default_smp_affinity). */
char *cpumask_hex(const struct cpumask *m);

/*
 * Reads the two forms as the kernel writes them in /proc and /sys (trailing newline allowed; the
 * empty string and "(null)", which kernels <= 6.12 print for an unset nohz_full, are the empty
 * set). Returns -EINVAL on anything else. What people write goes through cpulist.h instead.
 */
int cpumask_parse_list(struct cpumask *m, const char *text);
int cpumask_parse_hex(struct cpumask *m, const char *text);

/* sched_{get,set}affinity(2) of a thread, whatever the number of CPUs. 0 or -errno. */
int cpumask_get_affinity(struct cpumask *m, pid_t tid);
int cpumask_set_affinity(const struct cpumask *m, pid_t tid);

#endif
