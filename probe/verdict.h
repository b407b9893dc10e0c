/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Was isolation kept? From what was counted and the limits of the [verdict] section. What was not
 * seen in full is never called kept.
 */
#ifndef PROBE_VERDICT_H
#define PROBE_VERDICT_H

#include "../isolcore/request.h"
#include "trace_watch.h"

enum verdict_state {
	VERDICT_KEPT,
	VERDICT_UNUSED, /* no thread of the command ran on the CPU */
	VERDICT_INCONCLUSIVE,
	VERDICT_BROKEN,
};

struct verdict {
	enum verdict_state state;
	struct namelist reasons; /* sentences; empty if kept */
};

/* Of one CPU. */
void verdict_of_cpu(struct verdict *verdict, const struct watched_cpu *cpu,
                    const struct trace_watch *tw, const struct request *req);
/* Of all: broken if one is; else inconclusive if one is, or none was used; else kept. */
enum verdict_state verdict_of_all(const struct trace_watch *tw, const struct request *req);
/* What both make together: the worse; a CPU that was not used says nothing. */
enum verdict_state verdict_both(enum verdict_state a, enum verdict_state b);
/* Adds a reason, and with it a state that is no better than this. Owns the sentence. */
void verdict_say(struct verdict *verdict, enum verdict_state state, char *sentence);
const char *verdict_name(enum verdict_state state); /* "kept" */
/* "broken: 3 breaks, 0 allowed; the CPU went offline". The caller frees it. */
char *verdict_words(const struct verdict *verdict);
void verdict_free(struct verdict *verdict);
#define _cleanup_verdict_ _cleanup_(verdict_free)

#endif
