/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/*
 * Only regular files that are there already: for what the plan has yet to make, and for what is no
 * file, access(2) says nothing. No to it is final: the files of /proc, /sys and cgroupfs that ask
 * for a capability ask for it on top.
 */
static int check_file(const struct knob *knob, const struct system *sys, struct error *err)
{
	const char *path = knob->path + strspn(knob->path, "/");
	struct stat st;
	int error;

	if (knob->fresh || *knob->path != '/' || fstatat(sys->root.fd, path, &st, 0) ||
	    !S_ISREG(st.st_mode) || !faccessat(sys->root.fd, path, W_OK, AT_EACCESS))
		return 0;
	error = errno;
	error_errno(err, error, "cannot write %s for %s", knob->path, knob->name);
	error_append(err, error == EROFS ? "; it is read-only here, as in a container"
	                                 : "; run chisol as root, or without that setting");
	if (err)
		err->reason = error == EROFS ? REASON_READ_ONLY : REASON_NOT_PERMITTED;
	return -error;
}

int plan_preflight(const struct plan *plan, const struct system *sys, struct error *err)
{
	int rc = 0;

	if (!sys->root.live)
		return 0;
	for (size_t i = 0; !rc && i < plan->n_knobs; i++) {
		const struct knob *knob = plan->knobs[i];

		if (knob->policy == POLICY_REQUIRE && knob_is_planned(knob) &&
		    !knob_same(knob->type, knob->found, knob->wanted))
			rc = check_file(knob, sys, err);
	}
	for (size_t i = 0; !rc && i < plan->n_tasks; i++) {
		const struct task_setting *t = plan->tasks[i];

		if (t->policy == POLICY_REQUIRE && t->op->permitted)
			rc = t->op->permitted(sys, t, err);
	}
	return rc;
}
