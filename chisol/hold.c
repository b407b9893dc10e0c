/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hold.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "waiting.h"
#include "../isolcore/process.h"
#include "../isolcore/state.h"
#include "../probe/trace_events.h"

#define HOLD_FILE "trace-hold"

pid_t hold_find(const struct system *sys, size_t *n_events)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int dir = state_open_roots(&sys->root, NULL);
	unsigned long long start_time;
	pid_t pid;
	size_t n;

	if (dir < 0 || sysroot_read(&sys->root, STATE_DIR "/" HOLD_FILE, &text, NULL) ||
	    sscanf(text, "%9d %19llu %9zu", &pid, &start_time, &n) != 3 || pid <= 0 ||
	    !process_alive(&sys->root, pid, start_time))
		return 0;
	if (n_events)
		*n_events = n;
	return pid;
}

static int note_holder(const struct system *sys, size_t n_events, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	struct process self;

	if (process_read(&self, &sys->root, getpid(), err))
		return -err->err;
	text = xasprintf("%d %llu %zu\n", (int)self.pid, self.start_time, n_events);
	/* For everybody to read: --info does not need root. */
	return state_note(&sys->root, HOLD_FILE, 0644, "who holds the trace events", text, err);
}

/* Who takes over meanwhile has written the file anew. */
static void forget_holder(const struct system *sys)
{
	_cleanup_close_ int lock = -1, dir = -1;

	if (state_lock(&sys->root, say_waiting, &lock, NULL) || hold_find(sys, NULL) != getpid())
		return;
	dir = state_open(&sys->root, NULL);
	if (dir >= 0)
		unlinkat(dir, HOLD_FILE, 0);
}

/* Tells a service manager, as sd_notify(3) does. Whether it listens is its own business. */
static void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	_cleanup_close_ int fd = -1;

	if (len < 2 || len >= sizeof(address.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(address.sun_path, path, len);
	if (*path == '@')
		*address.sun_path = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}

/* nohup(1), and a shell's "&", have some of them ignored. */
static void take_signals(sigset_t *set)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

	sigemptyset(set);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		struct sigaction now;

		if (!sigaction(signals[i], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaddset(set, signals[i]);
	}
	sigprocmask(SIG_BLOCK, set, NULL);
}

/* Where the machine's own work is done; everywhere if it has no such place. */
static void find_place(const struct machine *m, struct cpumask *cpus)
{
	machine_housekeeping(cpus, m);
	if (cpumask_empty(cpus))
		cpumask_copy(cpus, &m->online);
}

static int begin(struct trace_events *te, const struct system *sys, struct error *err)
{
	_cleanup_cpumask_ struct cpumask place = CPUMASK_INIT;
	_cleanup_close_ int lock = -1;
	pid_t other;
	int rc = state_lock(&sys->root, say_waiting, &lock, err);

	if (rc)
		return rc;
	other = hold_find(sys, NULL);
	if (other)
		return error_set(err, EBUSY,
		                 "process %d holds the trace events already; one is enough", other);
	find_place(&sys->machine, &place);
	/* A mask that it cannot leave is no worse: it sleeps. */
	cpumask_set_affinity(&place, 0);
	rc = trace_events_hold(te, sys, (unsigned int)cpumask_next(&place, 0), err);
	return rc ? rc : note_holder(sys, te->n_fds, err);
}

int hold_trace(const struct system *sys, FILE *out, struct error *err)
{
	_cleanup_trace_events_ struct trace_events te = { 0 };
	sigset_t signals;
	int sig, rc;

	take_signals(&signals);
	rc = begin(&te, sys, err);
	if (rc)
		return rc;
	fprintf(out, "Holding %zu trace events, until SIGTERM to process %d.\n", te.n_fds,
	        (int)getpid());
	fflush(out);
	notify("READY=1");
	sigwait(&signals, &sig);
	notify("STOPPING=1");
	forget_holder(sys);
	return 0;
}
