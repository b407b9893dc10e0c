/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state directory: where the journals are, and the lock under which the machine is changed.
 *
 * It must be a real directory, owned by root (or the caller) and writable by nobody else: what
 * could be somebody else's is not believed.
 */
#ifndef ISOLCORE_STATE_H
#define ISOLCORE_STATE_H

#include "sysroot.h"

#define STATE_DIR "/run/chisol"

/* Opens the directory after looking at its owner and mode: a descriptor, or -errno with a
 * sentence. -ENOENT: there is none. */
int state_open(const struct sysroot *root, struct error *err);
/* Makes the directory if need be, and takes the lock (flock of STATE_DIR/lock), waiting for it.
 * The lock goes with the descriptor. Without root: -EACCES, -EPERM or -EROFS. */
int state_lock(const struct sysroot *root, int *lock_fd, struct error *err);

#endif
