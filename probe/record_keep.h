/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chisol's side of the record: makes it, holds it, and reads what the command's process has written
 * as what it is, hostile input. Whatever is read is a copy, in which every string ends and every
 * number that chooses something is one of those that there are.
 */
#ifndef PROBE_RECORD_KEEP_H
#define PROBE_RECORD_KEEP_H

#include "../isolcore/cpumask.h"
#include "record.h"

struct record_keep {
	struct record *record; /* NULL: none */
	int fd;                /* close-on-exec */
};
#define RECORD_KEEP_INIT \
	{                \
		NULL, -1 \
	}

int record_make(struct record_keep *keep, struct error *err);
void record_drop(struct record_keep *keep);

void record_order_cpus(struct record_cpus *cpus, const struct cpumask *mask);

/* Copies. head.magic and the size are not looked at again: they are the library's to check. */
void record_read_head(const struct record_keep *keep, struct record_head *head);
void record_read_handing(const struct record_keep *keep, struct record_handing *handing);
void record_read_library(const struct record_keep *keep, struct record_library *library);
void record_read_folded(const struct record_keep *keep, struct record_folded *folded);
/* The entries that are in use. The caller frees them. */
struct record_thread *record_read_threads(const struct record_keep *keep, size_t *n);
struct record_call *record_read_calls(const struct record_keep *keep, size_t *n);

#endif
