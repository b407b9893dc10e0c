/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's tracefs (Documentation/trace/ftrace.rst), for reading ids and formats of events.
 *
 * Where it is mounted it is used as it is. Where it is not, it is mounted on nothing (fsopen(2),
 * fsmount(2), Linux 5.2): the mount has no place in any tree, nobody sees it, and it is gone with
 * its descriptor.
 */
#ifndef PROBE_TRACEFS_H
#define PROBE_TRACEFS_H

#include "../isolcore/sysroot.h"

/* Opens tracefs as a root for sysroot_read() and friends; sysroot_close() ends it. -EPERM, -EACCES:
 * the caller may not; -ENODEV: the kernel has none. */
int tracefs_open(struct sysroot *tracefs, const struct sysroot *root, struct error *err);

#endif
