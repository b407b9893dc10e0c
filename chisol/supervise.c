/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise.h"

#include "../isolcore/process.h"
#include "../probe/monotonic.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#define TICK_NS    1000000000LL
#define TICK_SHARE 100 /* a tick may take one part in so many of the time to the next */
#define AT_ONCE    256 /* signals, before it is looked for anything else */

/* Signals that tell of a fault in chisol itself are left as they are. */
void supervise_held_signals(sigset_t *set)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };

	sigfillset(set);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		sigdelset(set, faults[i]);
}

int supervise_open_signals(struct error *err)
{
	sigset_t held;
	int fd;

	supervise_held_signals(&held);
	fd = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? error_errno(err, errno, "cannot open a signalfd") : fd;
}

static long long now_ns(void)
{
	return (long long)monotonic_ns();
}

/* The next signal that arrived, if any. */
static bool next_signal(const struct supervision *s, struct signalfd_siginfo *info)
{
	return read(s->signals, info, sizeof(*info)) == sizeof(*info);
}

/* A number that comes with the signal (sigqueue(3)) is passed on with it. */
static void pass_on(struct supervision *s, const struct signalfd_siginfo *info)
{
	union sigval value = { .sival_ptr = (void *)(uintptr_t)info->ssi_ptr };
	int sig = (int)info->ssi_signo;

	if (!(info->ssi_code == SI_QUEUE ? sigqueue(s->pid, sig, value) : kill(s->pid, sig)))
		return;
	if (!s->lost.n++) {
		s->lost.first = sig;
		s->lost.err = errno;
	}
}

/* Their senders have been told that all is well. */
static void tell_of_lost_signals(const struct supervision *s)
{
	static const struct {
		int err;
		const char *why;
	} reasons[] = {
		{ EAGAIN, ", as it has as many signals pending as it may (ulimit -i)" },
		{ EPERM, ", as it has become another user" },
	};
	const char *why = "";

	if (!s->lost.n)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].err == s->lost.err)
			why = reasons[i].why;
	plan_note(s->plan, NULL, reason_of_errno(s->lost.err),
	          "%lu signal%s that chisol was sent could not be passed on to the command%s; the "
	          "first was %d (%s): %s",
	          s->lost.n, s->lost.n == 1 ? "" : "s", why, s->lost.first,
	          strsignal(s->lost.first), strerror(s->lost.err));
}

/* Did the command, or a process that descends from it, send this? A sender that is gone already or
 * is outside of this pid namespace counts as somebody else. */
static bool sent_from_within(const struct supervision *s, const struct signalfd_siginfo *info)
{
	pid_t self = getpid(), pid = (pid_t)info->ssi_pid;
	struct process process;

	if (info->ssi_code > 0)
		return false;
	for (; pid > 1 && pid != self; pid = process.parent) {
		if (pid == s->pid)
			return true;
		if (process_read(&process, &s->sys->root, pid, NULL))
			break;
	}
	/* chisol itself: SIGPIPE of its own writes. */
	return (pid_t)info->ssi_pid == self;
}

/*
 * Was it sent to the command as well, or is it none of its business? SI_KERNEL is the terminal, or
 * the kernel about chisol's own limits. But the end of a session's terminal is told to its leader
 * alone (disassociate_ctty(), Linux), and a timer that was set before chisol was started ("alarm
 * 10; exec") is chisol's alone, as fork does not inherit it.
 */
static bool command_has_it(const struct supervision *s, const struct signalfd_siginfo *info)
{
	if (info->ssi_code != SI_KERNEL)
		return sent_from_within(s, info);
	switch (info->ssi_signo) {
	case SIGALRM:
		return false;
	case SIGHUP:
	case SIGCONT:
		return getsid(0) != getpid();
	default:
		return true;
	}
}

static void pass_signals(struct supervision *s, bool *child_changed)
{
	struct signalfd_siginfo info;

	for (int i = 0; i < AT_ONCE && next_signal(s, &info); i++) {
		if (info.ssi_signo == SIGCHLD)
			*child_changed = true;
		else if (!command_has_it(s, &info))
			pass_on(s, &info);
	}
}

static int open_terminal(void)
{
	return open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

/* The foreground process group of the controlling terminal; -1 without one. */
static pid_t terminal_group(void)
{
	_cleanup_close_ int fd = open_terminal();

	return fd < 0 ? -1 : tcgetpgrp(fd);
}

/* SIGTTOU is held, so that the terminal obeys a background process too. */
static void give_terminal(pid_t group)
{
	_cleanup_close_ int fd = open_terminal();

	if (fd >= 0)
		tcsetpgrp(fd, group);
}

/* Was chisol started by a shell that makes a process group of each job, and so watches it stop? */
static bool under_job_control(void)
{
	pid_t parent = getppid();

	return getsid(parent) == getsid(0) && getpgid(parent) != getpgrp();
}

static bool has_child_event(const struct supervision *s, int options)
{
	siginfo_t info = { 0 };

	return !waitid(P_PID, (id_t)s->pid, &info, options | WNOHANG) && info.si_pid;
}

/* Returns when somebody continues chisol, or at once where the kernel does not stop the members of
 * an orphaned process group (setpgid(2)). */
static void stop_self(int sig)
{
	struct sigaction before, plain = { .sa_handler = SIG_DFL };
	sigset_t one;

	if (sig == SIGSTOP) {
		kill(getpid(), SIGSTOP);
		return;
	}
	sigemptyset(&one);
	sigaddset(&one, sig);
	sigaction(sig, &plain, &before);
	kill(getpid(), sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	sigprocmask(SIG_BLOCK, &one, NULL);
	sigaction(sig, &before, NULL);
}

static void follow_stop(const struct supervision *s, int sig)
{
	pid_t group = getpgid(s->pid);
	bool own_group = group > 0 && group != getpgrp();
	bool had_terminal = own_group && terminal_group() == group;
	const struct timespec at_once = { 0 };
	sigset_t cont;

	/* SIGSTOP names one process, and whoever sent it will continue that one. */
	if (sig == SIGSTOP && !under_job_control())
		return;
	if (has_child_event(s, WCONTINUED | WNOWAIT))
		return;
	stop_self(sig);

	if (had_terminal && terminal_group() == getpgrp())
		give_terminal(group);
	/* The SIGCONT that woke chisol need not be passed on: */
	sigemptyset(&cont);
	sigaddset(&cont, SIGCONT);
	sigtimedwait(&cont, NULL, &at_once);
	if (!has_child_event(s, WCONTINUED))
		kill(own_group ? -group : s->pid, SIGCONT);
}

/* A shell as command has taken the terminal for its own group, and may have been killed. */
static void take_terminal_back(const struct supervision *s)
{
	pid_t group = getpgid(s->pid);

	if (group > 0 && group != getpgrp() && terminal_group() == group)
		give_terminal(getpgrp());
}

void supervise_at_gate(struct supervision *s)
{
	struct signalfd_siginfo info;

	s->foreground = terminal_group() == getpgrp();
	while (next_signal(s, &info)) {
		if (info.ssi_signo != SIGCHLD && (pid_t)info.ssi_pid != getpid())
			pass_on(s, &info);
	}
}

char *supervise_how_ended(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return xasprintf("signal %d (%s)", WTERMSIG(wait_status),
		                 strsignal(WTERMSIG(wait_status)));
	return xasprintf("exit status %d", WEXITSTATUS(wait_status));
}

static int never_started(enum handover_end end, int wait_status, struct launch_result *result,
                         struct error *err)
{
	_cleanup_free_ char *how = supervise_how_ended(wait_status);

	if (end == HANDOVER_FAILED)
		return err && err->err ? -err->err : -EIO;
	result->exit_status = EXIT_CHISOL;
	return error_set(err, ECHILD,
	                 "the process that was to run the command ended before it could: %s", how);
}

struct watch_times {
	long long tick, poll; /* when the next is due */
};

static void call_watch(const struct supervision *s, enum launch_event event,
                       struct watch_times *next)
{
	unsigned int ms = s->hooks->watch(s->hooks->ctx, event, s->pid);

	next->poll = ms ? now_ns() + ms * 1000000LL : LLONG_MAX;
}

/* Time until the next call of watch, for poll(2). */
static int timeout_ms(const struct supervision *s, bool started, const struct watch_times *next)
{
	long long left = (next->tick < next->poll ? next->tick : next->poll) - now_ns();

	if (!started || !s->hooks->watch)
		return -1;
	if (left <= 0)
		return 0;
	left = left / 1000000 + 1;
	return left > INT_MAX ? INT_MAX : (int)left;
}

static void tick(const struct supervision *s, struct watch_times *next)
{
	long long began = now_ns(), ended, share;

	call_watch(s, LAUNCH_TICK, next);
	ended = now_ns();
	share = (ended - began) * TICK_SHARE;
	next->tick = ended + (share > TICK_NS ? share : TICK_NS);
}

int supervise(struct supervision *s, struct launch_result *result, struct error *err)
{
	_cleanup_handover_ struct handover words = HANDOVER_INIT;
	enum handover_end end = HANDOVER_CUT;
	struct pollfd fds[] = { { .fd = s->signals, .events = POLLIN },
		                { .fd = s->channel, .events = POLLIN } };
	long long began = now_ns();
	struct watch_times next = { began + TICK_NS, LLONG_MAX };
	int status = 0;

	clock_gettime(CLOCK_REALTIME, &result->began);
	for (;;) {
		bool child_changed = false;
		siginfo_t stopped = { 0 };

		/* Whatever it returns, what there is to do is found by looking. */
		poll(fds, 2, timeout_ms(s, result->started, &next));
		if (fds[1].fd >= 0 && handover_receive(&words, s->channel) <= 0) {
			fds[1].fd = -1;
			child_changed = true;
			end = handover_merge(&words, s->plan, &result->exit_status, err);
			result->started = end == HANDOVER_READY;
			clock_gettime(CLOCK_REALTIME, &result->began);
			began = now_ns();
			if (result->started && s->hooks->watch)
				call_watch(s, LAUNCH_STARTED, &next);
			next.tick = now_ns() + TICK_NS;
		}
		pass_signals(s, &child_changed);
		if (result->started && s->hooks->watch && now_ns() >= next.poll)
			call_watch(s, LAUNCH_POLL, &next);
		if (result->started && s->hooks->watch && now_ns() >= next.tick)
			tick(s, &next);
		if (!child_changed)
			continue;
		if (!waitid(P_PID, (id_t)s->pid, &stopped, WSTOPPED | WNOHANG) && stopped.si_pid)
			follow_stop(s, stopped.si_status);
		/* Its last words are read before its end is told. */
		if (fds[1].fd < 0 && has_child_event(s, WEXITED | WNOWAIT))
			break;
	}
	clock_gettime(CLOCK_REALTIME, &result->ended);
	result->elapsed_ns = now_ns() - began;
	tell_of_lost_signals(s);
	if (s->foreground)
		take_terminal_back(s);
	if (result->started && s->hooks->watch)
		call_watch(s, LAUNCH_ENDED, &next);
	if (waitpid(s->pid, &status, 0) < 0)
		return error_errno(err, errno, "cannot wait for the command");
	result->wait_status = status;
	return result->started ? 0 : never_started(end, status, result, err);
}
