/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the process that is to become the command tells chisol before it execs: what became of each
 * task setting, and then that it execs, or why it does not. The channel closes on exec, so its end
 * without a word of failure means that the command runs.
 *
 * Both ends are the same program image, so numbers are sent as they are in memory; lengths are
 * still checked.
 */
#ifndef CHISOL_HANDOVER_H
#define CHISOL_HANDOVER_H

#include "../isolcore/plan.h"

struct handover {
	char *bytes;
	size_t n, room;
};
#define HANDOVER_INIT      \
	{                  \
		NULL, 0, 0 \
	}
void handover_free(struct handover *h);
#define _cleanup_handover_ _cleanup_(handover_free)

/* The child's side: words are collected, and sent together. */
void handover_add_settings(struct handover *h, const struct plan *plan);
void handover_add_ready(struct handover *h);
void handover_add_failure(struct handover *h, int exit_status, const struct error *err);
/* Sends what was collected and empties it. 0 or -errno. */
int handover_send(struct handover *h, int fd);

/* The parent's side. Returns 1 when there may be more, 0 at the end of the channel, or -errno. */
int handover_receive(struct handover *h, int fd);

enum handover_end {
	HANDOVER_CUT,    /* it ended before it could say what became of it */
	HANDOVER_READY,  /* it execed */
	HANDOVER_FAILED, /* exit_status and err are set */
};
/* Puts the results of all settings into the plan. */
enum handover_end handover_merge(const struct handover *h, struct plan *plan, int *exit_status,
                                 struct error *err);

#endif
