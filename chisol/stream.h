/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The breaks of isolation as they are found, one line of JSON each, to every sink of that format. A
 * sink that cannot be written to ends the stream with a warning, not the run.
 */
#ifndef CHISOL_STREAM_H
#define CHISOL_STREAM_H

#include "options.h"
#include "../probe/trace_watch.h"

struct stream {
	const struct options *options;
	struct trace_watch *watch; /* its breaks are streamed, if there is a sink for them */
	struct namelist *warnings;
	bool failed;
};

/* Writes the head and has the watch call the stream, which must stay where it is. 0, or -errno with
 * a sentence. */
int stream_begin(struct stream *stream, const struct run_report *report, struct error *err);

#endif
