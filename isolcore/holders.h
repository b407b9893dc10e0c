/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which runs hold the same knob (same type and path) as a given one and are above it, that is,
 * younger: the knob is as the topmost made it, and goes to the lowest of them when the given one
 * ends.
 */
#ifndef ISOLCORE_HOLDERS_H
#define ISOLCORE_HOLDERS_H

#include "runs.h"

struct holder {
	struct journal *run;
	struct journal_record *record;
};

struct holders {
	struct holder *all; /* everything that runs above hold; those of one knob in run order */
	size_t n, room;
};
#define HOLDERS_INIT       \
	{                  \
		NULL, 0, 0 \
	}

/* Borrows from the list, which must not change meanwhile. */
void holders_above(struct holders *holders, const struct journal *self,
                   const struct run_list *list);
void holders_free(struct holders *holders);
#define _cleanup_holders_ _cleanup_(holders_free)

/* The holders of the knob of a record: the lowest run first. Returns how many. */
size_t holders_of(const struct holders *holders, const struct journal_record *record,
                  const struct holder **first);

#endif
