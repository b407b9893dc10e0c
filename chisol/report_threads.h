/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What --probe=thread has found, as text and JSON. Names, paths and symbols are the command's. */
#ifndef CHISOL_REPORT_THREADS_H
#define CHISOL_REPORT_THREADS_H

#include "json.h"
#include "thread_probe.h"

void report_threads_text(FILE *out, const struct thread_probe *tp);
json_t *json_threads(const struct thread_probe *tp);

#endif
