/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line: one table of options, which getopt_long(3), --help and the request are made
 * from. Parsing prints nothing, changes nothing and looks at no more of the machine than profiles
 * and PATH.
 */
#ifndef CHISOL_OPTIONS_H
#define CHISOL_OPTIONS_H

#include "report.h"

/* What chisol is asked to do; all but the first two print on standard output and change no
 * setting, except ACTION_RESTORE and ACTION_FORGET, which put settings back. */
enum action {
	ACTION_RUN,
	ACTION_DRY_RUN,
	ACTION_CHECK,
	ACTION_RESTORE,
	ACTION_FORGET,
	ACTION_STATUS,
	ACTION_INFO,
	ACTION_HOLD,
	ACTION_HELP,
	ACTION_VERSION,
};

#define FAIL_ON_BROKEN       (1u << 0)
#define FAIL_ON_INCONCLUSIVE (1u << 1)
#define FAIL_ON_DRIFT        (1u << 2)

struct options {
	enum action action;
	enum dry_run_format dry_run_format;
	struct report_sink *sinks; /* not opened; at most one, without a path, unless ACTION_RUN */
	size_t n_sinks, sinks_room;
	unsigned int fail_on; /* FAIL_ON_ bits */
	bool verbose;
	const char *forget; /* the run; borrowed from argv */
	const char *root;   /* "/" or the recorded tree; borrowed from argv */
	struct request req; /* argv set; to be resolved */
};

/*
 * Reads options, and the profiles that they name. Profiles come first, in their order, then --set,
 * then the options that have a profile key of their own; --set and such an option for the same key
 * contradict each other. Returns 0 or -errno with a sentence; *usage (may be NULL) tells whether
 * the command line itself is at fault, so that "Try 'chisol --help'" is of help.
 */
int options_parse(struct options *o, int argc, char **argv, bool *usage, struct error *err);
/* Takes over sink.path. */
void options_add_sink(struct options *o, struct report_sink sink);
void options_free(struct options *o);
#define _cleanup_options_ _cleanup_(options_free)

void options_print_help(FILE *out);
void options_print_version(FILE *out);

/* The exit statuses for --fail-on when the command itself exited 0. */
#define EXIT_BROKEN       120
#define EXIT_INCONCLUSIVE 121
#define EXIT_DRIFTED      122

#endif
