/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "utc.h"

#include "../isolcore/mem.h"

char *utc_text(const struct timespec *when)
{
	struct tm tm = { 0 };

	gmtime_r(&when->tv_sec, &tm);
	return xasprintf("%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ", tm.tm_year + 1900, tm.tm_mon + 1,
	                 tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, when->tv_nsec / 1000000);
}
