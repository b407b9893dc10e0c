/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isolprobe(1): arguments, measurement, figures, report. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>

#include "print.h"

#define EXIT_NOT_MEASURED 1
#define EXIT_DOUBTS       2
#define PROGRESS_FROM_NS  3000000000u /* shorter runs need none */

static void (*const printers[FORMATS])(FILE *out, const struct outcome *o) = {
	[FORMAT_TEXT] = print_text,           [FORMAT_JSON] = print_json,
	[FORMAT_OSLAT] = print_oslat,         [FORMAT_OSLAT_JSON] = print_oslat_json,
	[FORMAT_SYSJITTER] = print_sysjitter,
};

static void *allocate(size_t size)
{
	return xcalloc(1, size);
}

static void show_progress(uint64_t elapsed_ns, uint64_t duration_ns, uint64_t n_breaks,
                          uint64_t max_ns)
{
	fprintf(stderr, "\r%llu s of %llu s, %llu breaks, longest gap %.1f us \033[K",
	        (unsigned long long)(elapsed_ns / 1000000000),
	        (unsigned long long)(duration_ns / 1000000000), (unsigned long long)n_breaks,
	        (double)max_ns / 1000);
}

/* Before the run, so that no measurement of hours ends at a directory that is not there. */
static int open_output(FILE **out, const char *path, struct error *err)
{
	_cleanup_close_ int fd = -1;

	if (!path)
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return error_errno(err, errno, "cannot write to %s",
		                   path ? path : "standard output");
	*out = fdopen(fd, "w");
	if (!*out)
		return error_errno(err, errno, "cannot write to %s",
		                   path ? path : "standard output");
	take_fd(&fd);
	return 0;
}

static int report(FILE **out, const struct arguments *args, const struct system *sys,
                  const struct run *run, struct error *err)
{
	_cleanup_free_ struct figures *figures = xcalloc(run->n_measured, sizeof(*figures));
	struct outcome outcome = { args, sys, run, figures };
	bool failed;

	for (size_t i = 0; i < run->n_measured; i++)
		figures_make(&figures[i], run->measured[i].record, run->measured[i].cpu);
	printers[args->format](*out, &outcome);
	failed = ferror(*out);
	if (fclose(*out) || failed)
		error_errno(err, errno, "cannot write the report to %s",
		            args->output ? args->output : "standard output");
	*out = NULL;
	return -err->err;
}

static int run_probe(const struct arguments *args, unsigned int *doubts, struct error *err)
{
	_cleanup_fclose_ FILE *out = NULL;
	_cleanup_system_ struct system sys = SYSTEM_INIT;
	_cleanup_run_ struct run run = RUN_INIT;
	bool progress = args->duration_ns > PROGRESS_FROM_NS && isatty(STDERR_FILENO);
	int rc = system_open(&sys, "/", err);

	if (!rc)
		rc = open_output(&out, args->output, err);
	if (!rc)
		rc = measure(&run, args, &sys, progress ? show_progress : NULL, err);
	if (progress)
		fputs("\r\033[K", stderr);
	if (!rc)
		rc = report(&out, args, &sys, &run, err);
	*doubts = run.doubts;
	return rc;
}

int main(int argc, char **argv)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	struct arguments args;
	unsigned int doubts = 0;
	int rc = arguments_parse(&args, argc, argv, &err);

	json_set_alloc_funcs(allocate, free);
	if (!rc && args.help) {
		arguments_help(stdout);
		return fflush(stdout) ? EXIT_NOT_MEASURED : 0;
	}
	if (!rc && args.version) {
		puts("isolprobe (chisol) " CHISOL_VERSION);
		return fflush(stdout) ? EXIT_NOT_MEASURED : 0;
	}
	if (!rc)
		rc = run_probe(&args, &doubts, &err);
	if (rc) {
		fprintf(stderr, "isolprobe: %s\n", err.text);
		return EXIT_NOT_MEASURED;
	}
	return doubts ? EXIT_DOUBTS : 0;
}
