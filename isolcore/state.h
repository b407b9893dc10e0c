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

#define STATE_DIR "/run/chisol" /* root's */

/* The path of the caller's own one, as another user may have cgroups delegated to it; the caller
 * frees it. */
char *state_dir(const struct sysroot *root);
/* Opens the directory after looking at its owner and mode: a descriptor, or -errno with a
 * sentence. -ENOENT: there is none. */
int state_open(const struct sysroot *root, struct error *err);
int state_open_roots(const struct sysroot *root, struct error *err); /* STATE_DIR, for anybody */
/* Puts a text into a file of the directory; who has the lock calls it. Whoever reads it has it
 * whole, or what was there before. what: of the sentence "cannot note in FILE what ...". */
int state_note(const struct sysroot *root, const char *name, mode_t mode, const char *what,
               const char *text, struct error *err);
/* Told once when the lock has been waited for for a while, as for a chisol that somebody stopped.
 * holder: its process; 0: not known. */
typedef void state_waiting_fn(const char *path, pid_t holder);
/* Makes the directory if need be, and takes the lock (flock of its file "lock"), waiting for it.
 * The lock goes with the descriptor. Not permitted: -EACCES, -EPERM or -EROFS. waiting may be
 * NULL. */
int state_lock(const struct sysroot *root, state_waiting_fn *waiting, int *lock_fd,
               struct error *err);

#endif
