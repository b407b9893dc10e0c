/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "waiting.h"

#include "../isolcore/mem.h"
#include "escape.h"

void say_waiting(const char *path, pid_t holder)
{
	_cleanup_free_ char *who =
		holder ? xasprintf("process %d", (int)holder) : xstrdup("another process");

	escape_print(stderr,
	             "chisol: waiting for %s, which holds %s/lock (is it stopped? kill -CONT "
	             "continues it)",
	             who, path);
	putc('\n', stderr);
}
