/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "on_break.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "escape.h"
#include "../probe/tracefs.h"

#define END_MS 5000 /* for a command that runs at the end of the run */

bool on_break_asked(const struct on_break *ob)
{
	return ob->watch && ob->action.kind != BREAK_ACTION_NONE;
}

static void note_break(void *ctx, const struct isolation_break *brk)
{
	struct on_break *ob = ctx;
	unsigned int whose = brk->by->self ? ON_BREAK_OF_SELF : ON_BREAK_OF_FOREIGN;

	if (brk->ending || brk->start < ob->watch->began + ob->watch->grace ||
	    brk->end - brk->start <= ob->req->probe.on_break_over * 1000ull ||
	    !(ob->req->probe.on_break_of & whose))
		return;
	ob->breaks++;
	if (ob->found.n++)
		return;
	ob->found = (struct found_break){ .cpu = brk->cpu,
		                          .cause = brk->by->cause,
		                          .start = brk->start,
		                          .end = brk->end,
		                          .n = 1 };
	memcpy(ob->found.text, brk->by->text, sizeof(ob->found.text));
}

/* Opened early: a mount of tracefs that nobody else sees is gone with the last descriptor. */
static int open_tracing(struct on_break *ob, struct error *err)
{
	_cleanup_sysroot_ struct sysroot tracefs = SYSROOT_INIT;
	int rc = tracefs_open(&tracefs, &ob->sys->root, err);

	if (rc)
		return rc;
	ob->tracing_on = sysroot_openat(&tracefs, "tracing_on", O_RDWR, err);
	if (ob->tracing_on < 0)
		return ob->tracing_on;
	/* Without it there is no mark, and all else is the same. */
	ob->trace_marker = sysroot_openat(&tracefs, "trace_marker", O_WRONLY, NULL);
	return 0;
}

void on_break_begin(struct on_break *ob, const struct system *sys, const struct request *req,
                    struct trace_watch *watch, struct namelist *warnings)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	/* What was not seen is no break. */
	const struct trace_listener listener = { ob, note_break, NULL };

	*ob = (struct on_break)ON_BREAK_INIT;
	/* The text was checked when it was read. */
	if (!policy_asked(req->probe.policy) ||
	    break_action_parse(&ob->action, req->probe.on_break, NULL) ||
	    ob->action.kind == BREAK_ACTION_NONE)
		return;
	ob->sys = sys;
	ob->req = req;
	ob->warnings = warnings;
	if (!watch) {
		namelist_take(warnings,
		              xasprintf("probe.on_break = %s: trace events are not watched, so "
		                        "nothing will be done",
		                        req->probe.on_break));
		return;
	}
	if (ob->action.kind == BREAK_ACTION_TRACE_OFF && open_tracing(ob, &err)) {
		namelist_take(warnings,
		              xasprintf("probe.on_break = trace-off will not be possible: "
		                        "%s",
		                        err.text));
		return;
	}
	ob->watch = watch;
	symbols_load(&watch->symbols);
	trace_watch_listen(watch, &listener);
}

static char *break_words(const struct on_break *ob)
{
	const struct found_break *found = &ob->found;

	return xasprintf("%s%s%s, %.1f us on CPU %u at %.6f s", found->cause->code,
	                 *found->text ? " " : "", found->text,
	                 (double)(found->end - found->start) / 1e3, found->cpu,
	                 (double)(found->start - ob->watch->began) / 1e9);
}

/* Failures of one kind come again and again: the first is told. */
static void fail(struct on_break *ob, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct on_break *ob, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	if (ob->failed++)
		return;
	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	namelist_take(ob->warnings,
	              xasprintf("probe.on_break = %s: %s", ob->req->probe.on_break, text));
}

static bool send_signal(struct on_break *ob, pid_t pid, int sig)
{
	if (!kill(pid, sig))
		return true;
	fail(ob, "cannot signal process %d: %s", (int)pid, strerror(errno));
	return false;
}

static bool stop(struct on_break *ob, pid_t pid)
{
	_cleanup_free_ char *words = break_words(ob);

	if (!send_signal(ob, pid, SIGSTOP))
		return false;
	/* It would otherwise look as if it hung. */
	escape_print(stderr, "chisol: %s: stopped process %d; kill -CONT %d continues it", words,
	             (int)pid, (int)pid);
	putc('\n', stderr);
	return true;
}

/* As others do who break off a trace: a mark in the buffer, then no more is written to it. */
static bool trace_off(struct on_break *ob)
{
	_cleanup_free_ char *words = break_words(ob);
	char state = '0';

	if (pread(ob->tracing_on, &state, 1, 0) == 1 && state == '0') {
		fail(ob, "tracing was off already");
		return false;
	}
	if (ob->trace_marker >= 0 && dprintf(ob->trace_marker, "chisol: %s\n", words) < 0)
		fail(ob, "cannot write to trace_marker: %s", strerror(errno));
	if (pwrite(ob->tracing_on, "0", 1, 0) == 1)
		return true;
	fail(ob, "cannot write to tracing_on: %s", strerror(errno));
	return false;
}

static void set_number(const char *name, uint64_t value)
{
	_cleanup_free_ char *text = xasprintf("%llu", (unsigned long long)value);

	setenv(name, text, 1);
}

struct command_process {
	const struct on_break *ob;
	pid_t pid; /* of the command whose isolation was broken */
};

/* In its process. */
static void tell_of_break(void *ctx)
{
	const struct command_process *process = ctx;
	const struct on_break *ob = process->ob;
	const struct found_break *found = &ob->found;

	set_number("CHISOL_BREAK_CPU", found->cpu);
	set_number("CHISOL_BREAK_NS", found->end - found->start);
	set_number("CHISOL_BREAK_START_NS", found->start - ob->watch->began);
	set_number("CHISOL_BREAK_COUNT", found->n);
	set_number("CHISOL_BREAK_PID", (uint64_t)process->pid);
	setenv("CHISOL_BREAK_CAUSE", found->cause->code, 1);
	setenv("CHISOL_BREAK_NAME", found->text, 1);
	trace_events_before_exec(&ob->watch->events);
}

/* Takes note of its end. Returns whether it has ended. */
static bool reap(struct on_break *ob, unsigned int ms)
{
	int status;

	if (!ob->side.pid || !side_wait(&ob->side, ms))
		return !ob->side.pid;
	status = side_reap(&ob->side);
	if (WIFSIGNALED(status))
		fail(ob, "the command was killed by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		fail(ob, "the command exited with status %d", WEXITSTATUS(status));
	return true;
}

static bool start_command(struct on_break *ob, pid_t pid)
{
	struct command_process process = { ob, pid };
	int rc = side_start(&ob->side, ob->action.command, &ob->req->cpus.housekeeping,
	                    tell_of_break, &process);

	if (rc)
		fail(ob, "cannot start a process: %s", strerror(-rc));
	return !rc;
}

static bool act(struct on_break *ob, pid_t pid)
{
	switch (ob->action.kind) {
	case BREAK_ACTION_STOP:
		return stop(ob, pid);
	case BREAK_ACTION_SIGNAL:
		return send_signal(ob, pid, ob->action.signal);
	case BREAK_ACTION_COMMAND:
		return start_command(ob, pid);
	case BREAK_ACTION_TRACE_OFF:
		return !ob->taken && trace_off(ob);
	case BREAK_ACTION_NONE:
		break;
	}
	return false;
}

void on_break_act(struct on_break *ob, pid_t pid, bool ended)
{
	bool at_process =
		ob->action.kind == BREAK_ACTION_STOP || ob->action.kind == BREAK_ACTION_SIGNAL;
	uint64_t delay;

	if (!on_break_asked(ob))
		return;
	reap(ob, 0);
	if (!ob->found.n)
		return;
	if (at_process && ended) {
		ob->late++;
	} else if (ob->side.pid) {
		ob->busy++;
	} else if (act(ob, pid)) {
		ob->taken++;
		delay = monotonic_ns() - ob->found.end;
		if (delay > ob->longest_delay)
			ob->longest_delay = delay;
	}
	ob->found.n = 0;
}

void on_break_end(struct on_break *ob)
{
	if (reap(ob, END_MS))
		return;
	fail(ob, "the command still ran %u s after the end of the run, and was ended",
	     END_MS / 1000);
	side_end(&ob->side);
}

void on_break_free(struct on_break *ob)
{
	if (ob->tracing_on >= 0)
		close(ob->tracing_on);
	if (ob->trace_marker >= 0)
		close(ob->trace_marker);
	*ob = (struct on_break)ON_BREAK_INIT;
}
