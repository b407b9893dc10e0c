/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_close.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <time.h>

#define CLOSE_LONG 1000000 /* ns; closing took so long because it was the event's last user */
#define CLOSE_TURN 5000000 /* ns; opening all events takes about as long */

static void close_others(const struct trace_events *te)
{
	_cleanup_namelist_ struct namelist open = NAMELIST_INIT;
	_cleanup_free_ bool *owned = NULL;
	int last = -1;

	for (size_t i = 0; i < te->n_fds; i++)
		last = te->fds[i] > last ? te->fds[i] : last;
	for (size_t i = 0; i < te->n_rings; i++)
		last = te->rings[i].fd > last ? te->rings[i].fd : last;
	owned = xcalloc((size_t)last + 1, sizeof(*owned));
	for (size_t i = 0; i < te->n_fds; i++)
		owned[te->fds[i]] = true;
	for (size_t i = 0; i < te->n_rings; i++)
		owned[te->rings[i].fd] = true;
	sysroot_list(&te->sys->root, "/proc/self/fd", &open, NULL);
	for (size_t i = 0; i < open.n; i++) {
		long fd = strtol(open.names[i], NULL, 10);

		if (fd > last || !owned[fd])
			close((int)fd);
	}
}

static void close_slowly(const struct trace_events *te)
{
	const struct timespec turn = { .tv_nsec = CLOSE_TURN };

	for (size_t i = 0; i < te->n_fds; i++) {
		uint64_t began = monotonic_ns();

		close(te->fds[i]);
		if (monotonic_ns() - began > CLOSE_LONG)
			nanosleep(&turn, NULL);
	}
}

void trace_close_by_child(const struct trace_events *te)
{
	int closed[2];
	char byte;

	if (pipe2(closed, O_CLOEXEC))
		return;
	if (!fork()) {
		prctl(PR_SET_NAME, "chisol-close");
		if (chdir("/"))
			_exit(0);
		close_others(te);
		close_slowly(te);
		_exit(0);
	}
	/* Locks and pipes that this process was started with are its alone when it ends. */
	close(closed[1]);
	while (read(closed[0], &byte, 1) < 0 && errno == EINTR)
		;
	close(closed[0]);
}
