/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Standing by: chisol stays in the command's process group and passes on what concerns it, so that
 * a shell, a terminal and a service manager deal with the two as with one.
 *
 * Signals. What a terminal sends, it sends to the whole group, and the command has it already.
 * What the command and its descendants send stays with chisol. Everything else may have been meant
 * for chisol alone and is passed on; a process that signals the whole group with kill(2) thereby
 * reaches the command twice, as with timeout(1): the alternative, to guess from the sender's group,
 * loses the signals of every script that ends its background job with kill $!.
 *
 * Job control. When the command stops, chisol stops by the same signal, so that the shell sees it;
 * when chisol is continued, so is the command.
 */
#ifndef CHISOL_SUPERVISE_H
#define CHISOL_SUPERVISE_H

#include "handover.h"
#include "launch.h"

struct supervision {
	const struct system *sys;
	struct plan *plan;
	pid_t pid;
	int channel; /* closed by the command's exec; owned by the caller */
	int signals; /* a signalfd that is told of every held signal; owned by the caller */
	const struct launch_hooks *hooks;
	bool foreground; /* chisol had the terminal; set by supervise_at_gate() */
	struct {
		unsigned long n;
		int first, err;
	} lost; /* signals that could not be passed on; a note of the plan tells of them */
};

/* A signalfd (non-blocking, close-on-exec) for the signals that launch_hold_signals() holds. */
int supervise_open_signals(struct error *err);
void supervise_held_signals(sigset_t *set);
/* While the command's process waits at its gate: sees who has the terminal, and passes on every
 * signal that arrived before that process was in the group. It still holds all signals itself, so
 * that a second one of a kind merges with the first. */
void supervise_at_gate(struct supervision *s);
/* "exit status 3", "signal 9 (Killed)", of what waitpid(2) gave. The caller frees it. */
char *supervise_how_ended(int wait_status);
/* Until the command has ended and is reaped. Return value and result as of launch_and_wait(). */
int supervise(struct supervision *s, struct launch_result *result, struct error *err);

#endif
