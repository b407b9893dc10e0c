/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "side.h"

#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define TERM_MS 1000 /* after SIGTERM */
#define STEP_MS 10

static void __attribute__((noreturn)) become_shell(const char *text, const struct cpumask *cpus,
                                                   pid_t parent, void (*prepare)(void *), void *ctx)
{
	const char *argv[] = { "sh", "-c", text, NULL };
	struct sigaction plain = { .sa_handler = SIG_DFL };
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	mem_exhausted = launch_out_of_memory; /* there is nothing here to put back */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent || dup2(nothing, STDIN_FILENO) < 0 ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		_exit(126);
	if (!cpumask_empty(cpus))
		cpumask_set_affinity(cpus, 0);
	if (prepare)
		prepare(ctx);
	sigaction(SIGCHLD, &plain, NULL);
	/* A script's background job is started to ignore it, and this is ended by it. */
	sigaction(SIGINT, &plain, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv("/bin/sh", (char *const *)argv);
	_exit(127);
}

int side_start(struct side *side, const char *text, const struct cpumask *cpus,
               void (*prepare)(void *ctx), void *ctx)
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		return -errno;
	if (!child)
		become_shell(text, cpus, parent, prepare, ctx);
	setpgid(child, child);
	side->pid = child;
	return 0;
}

static bool has_ended(const struct side *side)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)side->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

bool side_wait(const struct side *side, unsigned int ms)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };
	bool ended = has_ended(side);

	for (unsigned int waited = 0; !ended && waited < ms; waited += STEP_MS) {
		nanosleep(&step, NULL);
		ended = has_ended(side);
	}
	return ended;
}

int side_reap(struct side *side)
{
	int status = 0;

	waitpid(side->pid, &status, 0);
	side->pid = 0;
	return status;
}

void side_end(struct side *side)
{
	kill(-side->pid, SIGTERM);
	if (!side_wait(side, TERM_MS))
		kill(-side->pid, SIGKILL);
	side_reap(side);
}
