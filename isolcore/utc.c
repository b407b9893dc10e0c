/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "utc.h"

#include "mem.h"

static char *text_of(time_t when, const char *fraction)
{
	struct tm tm = { 0 };

	gmtime_r(&when, &tm);
	return xasprintf("%04d-%02d-%02dT%02d:%02d:%02d%sZ", tm.tm_year + 1900, tm.tm_mon + 1,
	                 tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, fraction);
}

char *utc_text(time_t when)
{
	return text_of(when, "");
}

char *utc_text_ms(const struct timespec *when)
{
	_cleanup_free_ char *fraction = xasprintf(".%03ld", when->tv_nsec / 1000000);

	return text_of(when->tv_sec, fraction);
}
