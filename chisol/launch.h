/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starting the command and standing by until it ends.
 *
 * The process that execs makes the task settings of the plan in their order, reads each back, and
 * gives the results to the parent (fork) or leaves them in the plan (exec in place). A setting
 * under POLICY_REQUIRE that is not granted ends it before exec.
 *
 * The command gets what it would have had from env(1): descriptors, signal mask, ignored signals,
 * process group, terminal, limits, environment, the last with CHISOL_CPUS and
 * CHISOL_HOUSEKEEPING_CPUS added. If chisol is killed, the command is sent SIGTERM
 * (PR_SET_PDEATHSIG, which a set-user-ID command or one with file capabilities does not get).
 */
#ifndef CHISOL_LAUNCH_H
#define CHISOL_LAUNCH_H

#include "../isolcore/journal.h"

#include <signal.h>
#include <time.h>

#define EXIT_CHISOL         125 /* chisol failed before the command ran; nothing stays changed */
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND      127

/* For mem_exhausted where nothing is to be put back: says so, and ends the process with 125. */
void launch_out_of_memory(void) __attribute__((noreturn));
void launch_say_out_of_memory(void); /* allocates nothing */

struct launch_result {
	bool started;    /* exec succeeded */
	int exit_status; /* not started: EXIT_CHISOL, EXIT_NOT_EXECUTABLE or EXIT_NOT_FOUND */
	int wait_status; /* started: as from waitpid(2) */
	struct timespec began, ended; /* CLOCK_REALTIME */
	long long elapsed_ns;         /* CLOCK_MONOTONIC */
};

/*
 * To be called first of all: descriptors 0 to 2 that chisol was started without are taken by one
 * that neither reads nor writes and that exec closes, so that no file which chisol opens becomes
 * its standard error, and the command finds them closed as under env.
 */
int launch_guard_stdio(struct error *err);

/* Configures the calling process and execs. Returns only on failure: -errno with a sentence, and
 * *exit_status set as above. */
int launch_in_place(const struct system *sys, const struct request *req, struct plan *plan,
                    int *exit_status, struct error *err);

/*
 * Signals as chisol inherited them. launch_hold_signals() blocks every signal from before the
 * journal is written until chisol has put everything back, so that no signal ends it in between:
 * what arrives before the command has started is given to the command, which then ends, or does
 * not, as it would have without chisol.
 */
struct launch_signals {
	sigset_t mask;
	struct sigaction child; /* of SIGCHLD: a parent that ignores it could not wait */
};
void launch_hold_signals(struct launch_signals *inherited);

/*
 * Called on a housekeeping CPU while the command runs: at its start, about once a second
 * (less often when one call takes long: at most 1 % of a CPU), and when the command has ended but
 * is not yet reaped, with pid still readable in /proc.
 */
enum launch_event {
	LAUNCH_STARTED,
	LAUNCH_TICK,
	LAUNCH_ENDED,
	LAUNCH_POLL, /* when the call before has asked for it */
};
/* Returns after how many ms it wants to be called with LAUNCH_POLL; 0: not. */
typedef unsigned int launch_watch_fn(void *ctx, enum launch_event event, pid_t pid);

/* What is called meanwhile; each may be NULL. */
struct launch_hooks {
	launch_watch_fn *watch;
	/* Called in the process that is about to exec, after everything else, with the command's
	 * name as given. What it does to descriptors and environment, the command gets. */
	void (*before_exec)(void *ctx, const char *name);
	void *ctx;
};

/*
 * Forks, configures, execs, forwards signals, follows job control, waits. Returns 0 when the
 * command ran (result says how it ended), -errno with a sentence when it was never started.
 * journal may be NULL. Signals stay held, and standard input and output are the command's
 * alone from then on.
 */
int launch_and_wait(const struct system *sys, const struct request *req, struct plan *plan,
                    struct journal *journal, const struct launch_signals *inherited,
                    const struct launch_hooks *hooks, struct launch_result *result,
                    struct error *err);

/* Ends the calling process as the command ended: the same status, or the same signal. */
void launch_end_like(const struct launch_result *result) __attribute__((noreturn));

#endif
