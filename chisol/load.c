/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load.h"

#include "supervise.h"

#include <errno.h>

#define END_MS    5000 /* after SIGINT */
#define LOOK_MS   20
#define SECOND_MS 1000u

static bool told_to_end(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t pending;

	sigpending(&pending);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (sigismember(&pending, ends[i]))
			return true;
	return false;
}

/* Did it last? */
static bool settle(const struct load *load)
{
	unsigned int ms = load->req->load.settle * SECOND_MS;

	for (unsigned int waited = 0; waited < ms && !told_to_end(); waited += LOOK_MS)
		if (side_wait(&load->side, LOOK_MS))
			return false;
	return !side_wait(&load->side, 0);
}

/* It ended by itself. What it left behind in its group ends with it. */
static char *early_end(struct load *load, const char *when)
{
	_cleanup_free_ char *how = NULL;

	kill(-load->side.pid, SIGTERM);
	how = supervise_how_ended(side_reap(&load->side));
	return xasprintf("load.command = %s: it ended %s: %s", load->req->load.command, when, how);
}

int load_begin(struct load *load, const struct request *req, struct namelist *warnings,
               struct error *err)
{
	_cleanup_free_ char *why = NULL;
	int rc;

	if (!policy_asked(req->load.policy))
		return 0;
	load->req = req;
	load->warnings = warnings;
	rc = side_start(&load->side, req->load.command, &req->cpus.housekeeping, NULL, NULL);
	if (rc) {
		why = xasprintf("load.command = %s: cannot start a process: %s", req->load.command,
		                strerror(-rc));
	} else if (!settle(load)) {
		rc = -ECHILD;
		why = early_end(load, "before the command started");
	}
	if (rc && req->load.policy == POLICY_REQUIRE)
		return error_set(err, -rc, "%s", why);
	if (rc)
		namelist_take(warnings, take_ptr(&why));
	return 0;
}

void load_end(struct load *load)
{
	if (!load->side.pid)
		return;
	if (side_wait(&load->side, 0)) {
		namelist_take(load->warnings, early_end(load, "before the command did"));
		return;
	}
	load->whole_run = true;
	kill(-load->side.pid, SIGINT);
	if (!side_wait(&load->side, END_MS))
		namelist_take(load->warnings,
		              xasprintf("load.command = %s: it still ran %d s after SIGINT, and "
		                        "was ended",
		                        load->req->load.command, END_MS / 1000));
	side_end(&load->side);
}
