/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is to be done when isolation was broken, as probe.on_break says it: "none", "stop",
 * "trace-off", "signal:SIGUSR1" (or USR1, or a number), "command:TEXT".
 */
#ifndef ISOLCORE_BREAK_ACTION_H
#define ISOLCORE_BREAK_ACTION_H

#include "error.h"

enum break_action_kind {
	BREAK_ACTION_NONE,
	BREAK_ACTION_STOP,
	BREAK_ACTION_TRACE_OFF,
	BREAK_ACTION_SIGNAL,
	BREAK_ACTION_COMMAND,
};

struct break_action {
	enum break_action_kind kind;
	int signal;
	const char *command; /* borrowed from the text */
};

/* -EINVAL with a sentence that shows what is wrong and what may be written. */
int break_action_parse(struct break_action *action, const char *text, struct error *err);

#endif
