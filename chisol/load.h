/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The load of a measurement ([load]): what runs on the housekeeping CPUs beside the command, from
 * before it starts until it has ended. A load that did not last as long is told: figures that were
 * measured with half of it are not those that were asked for.
 */
#ifndef CHISOL_LOAD_H
#define CHISOL_LOAD_H

#include "side.h"
#include "../isolcore/request.h"

struct load {
	const struct request *req;
	struct namelist *warnings;
	struct side side;
	bool whole_run; /* it still ran when the command had ended; known after load_end() */
};

/* Starts it, and lets it settle; a signal that would end the command cuts that short. An error
 * means that it is required and could not be had: the sentence says why. */
int load_begin(struct load *load, const struct request *req, struct namelist *warnings,
               struct error *err);
/* Ends what was begun: SIGINT, on which measuring and stressing programs tell their figures, and
 * after five seconds SIGTERM and SIGKILL. */
void load_end(struct load *load);

#endif
