/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of the command's threads when it has ended: from the record that its libisolprobe
 * has left and from chisol's own looks, joined, and by CPU together with what /proc/interrupts
 * counted there. What none of these can see is named, and never called kept.
 */
#ifndef PROBE_FOLLOWED_H
#define PROBE_FOLLOWED_H

#include "../isolcore/interrupts.h"
#include "record_keep.h"
#include "verdict.h"

struct followed_cpu {
	unsigned int cpu;
	bool counted;     /* /proc/interrupts has it */
	size_t n_threads; /* that were last seen here, of those on the workload's CPUs */
	uint64_t interrupts, softirqs;
	uint64_t ipis; /* of the interrupts: what a program can cause on its own CPUs */
	struct record_counts counts; /* of these threads */
	uint64_t n_stacked;          /* looks at one of them that found another one waiting here */
};

struct followed {
	/* The main one first, then those that were on the workload's CPUs, the most disturbed
	 * first. Counts are those that count: base is 0. */
	struct record_thread *threads;
	size_t n_threads;
	struct record_folded folded; /* threads that have ended and are not in the list */
	struct record_call *calls;
	size_t n_calls;
	uint64_t n_self; /* calls together */
	uint64_t calls_omitted;
	uint64_t n_omitted; /* threads that were not followed */
	uint64_t n_looks;   /* of both sides */
	struct followed_cpu *cpus;
	size_t n_cpus;
	char *interrupts_unavailable;
	uint64_t count_from; /* CLOCK_MONOTONIC, ns: the end of the grace; set before the join */
	uint64_t window_ns;  /* that counts */
};

/* own: chisol's table of RECORD_THREADS, own_folded: its sum. */
void followed_join(struct followed *followed, const struct record_keep *record,
                   const struct record_thread *own, const struct record_folded *own_folded);
/* Settles the CPUs, after the other members. */
void followed_count_cpus(struct followed *followed, const struct cpumask *workload,
                         const struct interrupt_table *interrupts);
void followed_free(struct followed *followed);

void followed_verdict_of_cpu(struct verdict *verdict, const struct followed_cpu *cpu,
                             const struct followed *followed, const struct request *req);
enum verdict_state followed_verdict(const struct followed *followed, const struct request *req);

/* "munmap", for reports. */
const char *record_call_name(uint32_t kind);

#endif
