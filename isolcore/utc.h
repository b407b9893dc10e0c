/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A moment of CLOCK_REALTIME as ISO 8601 in UTC. The caller frees it. */
#ifndef ISOLCORE_UTC_H
#define ISOLCORE_UTC_H

#include <time.h>

char *utc_text(time_t when);                    /* "2026-11-30T12:00:00Z" */
char *utc_text_ms(const struct timespec *when); /* "2026-11-30T12:00:00.123Z" */

#endif
