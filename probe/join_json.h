/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was joined, as JSON: the same in the reports of isolprobe(1) and chisol(1). */
#ifndef PROBE_JOIN_JSON_H
#define PROBE_JOIN_JSON_H

#include <jansson.h>

#include "gap_watch.h"

/* Everything about the i-th CPU, but for single gaps. */
json_t *join_json_cpu(const struct gap_watch *gw, size_t i);
/* Adds to the object of a gap what it is charged to, and what happened in it. NULL: not known. */
void join_json_gap(json_t *object, const struct join_gap *gap);

#endif
