/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "escape.h"
#include "hold.h"
#include "info.h"
#include "run.h"
#include "status.h"

#include <errno.h>

/* A sentence, or one for each mistake of a profile. */
static void say(const char *text)
{
	for (const char *line = text, *end; line; line = *end ? end + 1 : NULL) {
		end = strchrnul(line, '\n');
		escape_print(stderr, "chisol: %.*s", (int)(end - line), line);
		putc('\n', stderr);
	}
}

/* The one place where chisol says that it failed. What it has printed must have got somewhere. */
static int end(int status, struct error *err)
{
	if (fflush(stdout) || ferror(stdout)) {
		if (!err->text)
			error_errno(err, errno ? errno : EIO, "cannot write to standard output");
		status = EXIT_CHISOL;
	}
	say(err->text);
	return status;
}

/* What needs no request: it only tells of the machine and of runs, puts back, or holds. */
static int tell(const struct options *options, const struct system *sys, struct error *err)
{
	enum report_format format = options->n_sinks ? options->sinks[0].format : REPORT_TEXT;

	switch (options->action) {
	case ACTION_STATUS:
		return status_print(format, sys, stdout, err);
	case ACTION_RESTORE:
		return restore_print(format, sys, stdout, err);
	case ACTION_FORGET:
		return forget_print(format, sys, options->forget, stdout, err);
	case ACTION_HOLD:
		return hold_trace(sys, stdout, err) ? EXIT_CHISOL : 0;
	default:
		return info_print(format, sys, &options->req, stdout, err) ? EXIT_CHISOL : 0;
	}
}

int main(int argc, char **argv)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_options_ struct options options = { 0 };
	_cleanup_system_ struct system sys = SYSTEM_INIT;
	_cleanup_run_ struct run run = RUN_INIT;
	bool usage = false;

	mem_exhausted = launch_out_of_memory;
	if (launch_guard_stdio(&err) || options_parse(&options, argc, argv, &usage, &err)) {
		end(EXIT_CHISOL, &err);
		if (usage)
			fprintf(stderr, "Try 'chisol --help' for more information.\n");
		return EXIT_CHISOL;
	}
	if (options.action == ACTION_HELP || options.action == ACTION_VERSION) {
		(options.action == ACTION_HELP ? options_print_help
		                               : options_print_version)(stdout);
		return end(0, &err);
	}
	if (system_open(&sys, options.root, &err))
		return end(EXIT_CHISOL, &err);
	if (options.action >= ACTION_RESTORE)
		return end(tell(&options, &sys, &err), &err);

	if (run_prepare(&run, &sys, &options, &err))
		return end(EXIT_CHISOL, &err);
	if (options.action == ACTION_DRY_RUN)
		return end(dry_run_print(options.dry_run_format, &sys, &options.req, &run.plan,
		                         stdout, &err)
		                   ? EXIT_CHISOL
		                   : 0,
		           &err);
	if (options.action == ACTION_CHECK)
		return end(check_print(options.n_sinks ? options.sinks[0].format : REPORT_TEXT,
		                       &sys, &options.req, &run.plan, stdout, &err),
		           &err);
	return end(run_command(&run, &err), &err);
}
