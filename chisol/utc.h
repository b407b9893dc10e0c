/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A moment of CLOCK_REALTIME as ISO 8601 in UTC, to the millisecond: "2026-11-30T12:00:00.123Z".
 * The caller frees it. */
#ifndef CHISOL_UTC_H
#define CHISOL_UTC_H

#include <time.h>

char *utc_text(const struct timespec *when);

#endif
