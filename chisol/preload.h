/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Giving the record to the command: to a program that is linked with libisolprobe, and, where the
 * threads are to be followed, by preloading libisolprobe-preload.so. What cannot take it gets
 * nothing, no descriptor and no variable, and why not is in the record.
 */
#ifndef CHISOL_PRELOAD_H
#define CHISOL_PRELOAD_H

#include "../probe/record_keep.h"

/* The library to preload: beside chisol itself, as in its build directory, or else where it is
 * installed. NULL: neither is there. The caller frees it. */
char *preload_find_library(void);

/* In the process that is about to exec the command. library: to be preloaded; follow: it is. */
void preload_hand_over(const struct record_keep *keep, const char *library, bool follow,
                       const char *name);

/* Why a record that nobody has attached to has not reached the command. The caller frees it. */
char *preload_why_not(const struct record_keep *keep, const char *library);

#endif
