/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "break_action.h"

#include <errno.h>
#include <signal.h>

#include "text.h"

static const struct {
	const char *word; /* with a colon: and more behind it */
	enum break_action_kind kind;
} words[] = {
	{ "none", BREAK_ACTION_NONE },           { "stop", BREAK_ACTION_STOP },
	{ "trace-off", BREAK_ACTION_TRACE_OFF }, { "signal:", BREAK_ACTION_SIGNAL },
	{ "command:", BREAK_ACTION_COMMAND },
};

static int parse_signal(int *signal, const char *text, struct error *err)
{
	const char *name = strncmp(text, "SIG", 3) != 0 ? text : text + 3;
	_cleanup_free_ char *shown = NULL;
	struct nearest near = { .word = name };
	unsigned long long number;

	if (text_unsigned(text, &number) && number >= 1 && number <= (unsigned int)SIGRTMAX) {
		*signal = (int)number;
		return 0;
	}
	for (int i = 1; i < SIGRTMAX; i++) {
		const char *known = sigabbrev_np(i);

		if (!known)
			continue;
		if (!strcmp(known, name)) {
			*signal = i;
			return 0;
		}
		nearest_try(&near, known);
	}
	shown = text_quote(text);
	error_set(err, EINVAL, "there is no signal %s", shown);
	if (nearest_word(&near))
		error_append(err, "; did you mean \"SIG%s\"?", near.best);
	return -EINVAL;
}

int break_action_parse(struct break_action *action, const char *text, struct error *err)
{
	_cleanup_free_ char *shown = text_quote(text);

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t len = strlen(words[i].word);
		bool more = words[i].word[len - 1] == ':';

		if (more ? strncmp(text, words[i].word, len) != 0
		         : strcmp(text, words[i].word) != 0)
			continue;
		*action = (struct break_action){ .kind = words[i].kind };
		if (more && !text[len])
			return error_set(err, EINVAL, "there is nothing after the colon of %s",
			                 shown);
		if (action->kind == BREAK_ACTION_COMMAND)
			action->command = text + len;
		return action->kind == BREAK_ACTION_SIGNAL
		               ? parse_signal(&action->signal, text + len, err)
		               : 0;
	}
	return error_set(err, EINVAL,
	                 "%s is none of none, stop, trace-off, signal:NAME and command:TEXT",
	                 shown);
}
