/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream.h"

#include "report_probe.h"

static void stream_text(struct stream *stream, const char *text, size_t len)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	const struct options *options = stream->options;

	for (size_t i = 0; i < options->n_sinks && !stream->failed; i++) {
		if (options->sinks[i].format != REPORT_JSONL ||
		    !report_sink_add(&options->sinks[i], text, len, &err))
			continue;
		namelist_add(stream->warnings, err.text);
		stream->failed = true;
	}
}

static void stream_break(void *ctx, const struct isolation_break *brk)
{
	struct stream *stream = ctx;
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		mem_exhausted();
	report_jsonl_break(out, stream->watch, brk);
	fclose(out);
	stream_text(stream, text, len);
}

int stream_begin(struct stream *stream, const struct run_report *report, struct error *err)
{
	const struct options *options = stream->options;
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		mem_exhausted();
	report_jsonl_head(out, report);
	fclose(out);
	for (size_t i = 0; i < options->n_sinks; i++) {
		if (options->sinks[i].format != REPORT_JSONL)
			continue;
		if (report_sink_empty(&options->sinks[i], err))
			return -err->err;
		stream->watch->on_break = stream_break;
		stream->watch->ctx = stream;
	}
	stream_text(stream, text, len);
	return 0;
}
