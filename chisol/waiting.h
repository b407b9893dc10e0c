/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Says on standard error that chisol waits for another one, and for which. Signals may be held
 * meanwhile, so that it would look as if it hung.
 */
#ifndef CHISOL_WAITING_H
#define CHISOL_WAITING_H

#include <sys/types.h>

void say_waiting(const char *path, pid_t holder); /* a state_waiting_fn, isolcore/state.h */

#endif
