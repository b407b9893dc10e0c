/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the kernel took the calling thread off its CPU, without asking it: a pointer to a
 * restartable sequence that is never entered lies in the area that the thread has registered with
 * the kernel (rseq(2), Linux 4.18), and the kernel clears it whenever it preempts, migrates or
 * signals the thread.
 *
 * The area is the C library's (glibc 2.35), or, where that has none (older, or turned off by
 * GLIBC_TUNABLES=glibc.pthread.rseq=0), one of our own, given back at the end, as a thread can have
 * but one: a program that registers its own before is left alone, and there is no area then. A
 * program that uses sequences itself overwrites the pointer.
 */
#ifndef PROBE_RSEQ_H
#define PROBE_RSEQ_H

#include <stdbool.h>
#include <stdint.h>

/* struct rseq (linux/rseq.h), as far as it has always been. */
struct rseq_area {
	uint32_t cpu_id_start, cpu_id;
	uint64_t rseq_cs;
	uint32_t flags, padding[3];
} __attribute__((aligned(32)));

enum rseq_state {
	RSEQ_ARMED,   /* nothing happened since */
	RSEQ_CLEARED, /* the kernel took the thread off, or signalled it */
	RSEQ_OTHER,   /* not known: the program has put something there; or there is no area */
};

/* The calling thread's, NULL: none can be had. */
struct rseq_area *rseq_begin(void);
void rseq_arm(struct rseq_area *area);
enum rseq_state rseq_look(const struct rseq_area *area);
/* The CPU that the thread is on. */
uint32_t rseq_cpu(const struct rseq_area *area);
/* By the thread that began. */
void rseq_end(struct rseq_area *area);

#endif
