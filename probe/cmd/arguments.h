/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of isolprobe, checked but for what depends on the machine. */
#ifndef PROBE_CMD_ARGUMENTS_H
#define PROBE_CMD_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../../isolcore/error.h"

enum workload {
	WORKLOAD_NONE,
	WORKLOAD_MEMMOVE,
	WORKLOADS
};
extern const char *const workload_names[WORKLOADS];

enum when {
	CAUSES_AUTO, /* if permitted */
	CAUSES_OFF,
	CAUSES_REQUIRE,
	WHENS
};
extern const char *const when_names[WHENS];

enum format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_OSLAT,
	FORMAT_OSLAT_JSON,
	FORMAT_SYSJITTER,
	FORMATS
};
extern const char *const format_names[FORMATS];

struct arguments {
	int argc;
	char **argv;
	const char *cpus, *control; /* CPU lists; NULL: not given */
	uint64_t duration_ns;
	uint64_t threshold_ns; /* 0: to be found */
	enum workload workload;
	uint64_t workload_size; /* bytes */
	int priority;           /* SCHED_FIFO; 0: the policy stays */
	enum when causes;
	uint32_t n_gaps; /* to keep of each CPU: the worst, and the first */
	enum format format;
	const char *output; /* NULL: standard output */
	bool help, version;
};

int arguments_parse(struct arguments *args, int argc, char **argv, struct error *err);
void arguments_help(FILE *out);

#endif
