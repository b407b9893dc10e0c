/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream.h"

#include "report_probe.h"

#include <errno.h>

/* While the command runs, signals wait for it, and the machine to be put back. */
#define PATIENCE_MS 1000

static void stream_text(struct stream *stream, const char *text, size_t len)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	const struct options *options = stream->options;

	for (size_t i = 0; i < options->n_sinks && !stream->failed; i++) {
		if (options->sinks[i].format != REPORT_JSONL ||
		    !report_sink_add(&options->sinks[i], text, len, PATIENCE_MS, &err))
			continue;
		if (err.err == ETIMEDOUT)
			error_append(&err,
			             ", and no more is written to it until the command has ended");
		namelist_add(stream->warnings, err.text);
		stream->failed = true;
	}
}

static void stream_object(struct stream *stream, json_t *object)
{
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT), *line = NULL;

	json_decref(object);
	if (!text)
		out_of_memory();
	line = xasprintf("%s\n", text);
	stream_text(stream, line, strlen(line));
}

static void stream_break(void *ctx, const struct isolation_break *brk)
{
	struct stream *stream = ctx;

	if (brk->start < stream->watch->began)
		return;
	stream_object(stream, json_stream_break(stream->watch, brk));
}

static void stream_unseen(void *ctx, unsigned int cpu, uint64_t start, uint64_t end)
{
	struct stream *stream = ctx;

	stream_object(stream, json_stream_unseen(stream->watch, cpu, start, end));
}

int stream_begin(struct stream *stream, const struct run_report *report, struct error *err)
{
	const struct trace_listener listener = { stream, stream_break, stream_unseen };
	const struct options *options = stream->options;
	bool asked = false;

	for (size_t i = 0; i < options->n_sinks; i++) {
		if (options->sinks[i].format != REPORT_JSONL)
			continue;
		if (report_sink_empty(&options->sinks[i], err))
			return -err->err;
		asked = true;
	}
	if (asked)
		trace_watch_listen(stream->watch, &listener);
	stream_object(stream, json_stream_head(report));
	return 0;
}
