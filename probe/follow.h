/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Following the threads of a process by looking, now and then, at /proc/PID/task: what they do not
 * notice, and from a CPU that is not theirs. The same code runs in libisolprobe's thread, whose
 * table is the record, and in chisol, where that thread is not or cannot be.
 *
 * It takes no lock and no memory, and uses nothing of libc but system calls: it must not meet the
 * program in malloc().
 */
#ifndef PROBE_FOLLOW_H
#define PROBE_FOLLOW_H

#include "record.h"

struct follow {
	int dir; /* /proc/PID/task */
	pid_t pid;
	pid_t self; /* the thread that follows, which is no thread of the program; 0: none */
	const struct record_cpus *workload;
	uint64_t count_from;           /* until then nothing counts: the grace */
	struct record_thread *threads; /* RECORD_THREADS */
	struct record_folded *folded;
	/* Of the last look: */
	uint32_t n_alive, n_hot; /* without self */
	uint64_t n_omitted;      /* there was no place for them in the table */
};

/* 0 or -errno. follow->pid and the pointers are set. */
int follow_open(struct follow *follow);
/* 0 or -errno: /proc cannot be read (any more). */
int follow_look(struct follow *follow, uint64_t now);
void follow_close(struct follow *follow);

/* The place of a thread in the table, claimed if need be; NULL: the table is full. start: when it
 * began; 0: just now, so that the place of one that has ended with the same number is not its. */
struct record_thread *follow_claim(struct record_thread *threads, uint32_t tid, uint64_t start)
	__attribute__((nonnull));
/* base + more, member by member; and the other way round. */
void follow_add(struct record_counts *base, const struct record_counts *more);
void follow_subtract(struct record_counts *base, const struct record_counts *less);

#endif
