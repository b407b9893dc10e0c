/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What chisol does when it finds that isolation was broken (probe.on_break). It finds it when it
 * reads the trace events, ON_BREAK_POLL_MS at the latest after the break has ended, and acts once
 * for all breaks that it finds together.
 */
#ifndef CHISOL_ON_BREAK_H
#define CHISOL_ON_BREAK_H

#include "side.h"
#include "../isolcore/break_action.h"
#include "../isolcore/request.h"
#include "../probe/trace_watch.h"

#define ON_BREAK_POLL_MS 10

/* The first of the breaks that were found together. */
struct found_break {
	unsigned int cpu;
	const struct cause *cause;
	char text[TRACE_TEXT];
	uint64_t start, end;
	uint64_t n; /* how many they are */
};

struct on_break {
	struct break_action action;
	const struct system *sys;
	const struct request *req;
	struct trace_watch *watch;
	struct namelist *warnings;
	int tracing_on, trace_marker; /* BREAK_ACTION_TRACE_OFF */
	struct side side;             /* BREAK_ACTION_COMMAND */
	struct found_break found;     /* since the action was taken last */

	uint64_t breaks;        /* that were over the limit */
	uint64_t taken;         /* times that the action was taken */
	uint64_t busy;          /* ... that it was not, as the last command still ran */
	uint64_t late;          /* ... as the command whose isolation was broken had ended */
	uint64_t failed;        /* ... that it failed */
	uint64_t longest_delay; /* ns, from the end of a break until the action was taken */
};
#define ON_BREAK_INIT                                 \
	{                                             \
		.tracing_on = -1, .trace_marker = -1, \
	}

/* Before the command starts. watch: NULL if nothing is watched. Cannot fail: what will not be
 * possible is a warning. The two must stay where they are. */
void on_break_begin(struct on_break *ob, const struct system *sys, const struct request *req,
                    struct trace_watch *watch, struct namelist *warnings);
bool on_break_asked(const struct on_break *ob);
/* After each reading of events. ended: the command is not yet reaped, and no signal reaches it. */
void on_break_act(struct on_break *ob, pid_t pid, bool ended);
/* The end of the run: gives a command that still runs five seconds, and then ends it. */
void on_break_end(struct on_break *ob);
void on_break_free(struct on_break *ob);

#endif
