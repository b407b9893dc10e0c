/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An error is a value: an errno, a stable reason code, and one sentence that says what was
 * attempted, on which path, why it failed and what to do.
 *
 * Functions that can fail return 0 or -errno and fill a struct error; nothing in isolcore prints or
 * exits. A struct error starts as ERROR_INIT and is given back with error_clear() (or the cleanup
 * attribute). Not shared between threads.
 */
#ifndef ISOLCORE_ERROR_H
#define ISOLCORE_ERROR_H

#include "mem.h"

struct error {
	int err;            /* errno, > 0; 0: no error */
	const char *reason; /* a code of reason.h, or NULL */
	char *text;         /* the sentence; of a profile one for each mistake, a line each */
};

#define ERROR_INIT            \
	{                     \
		0, NULL, NULL \
	}

void error_clear(struct error *e);
#define _cleanup_error_ _cleanup_(error_clear)

/* Sets the error (e may be NULL) and returns -err, so that "return error_set(...)" reads well. */
int error_set(struct error *e, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same, followed by ": " and strerror(err). */
int error_errno(struct error *e, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Puts "prefix: " before the sentence that is there; returns -e->err, or -EINVAL without an e. */
int error_prefix(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends to the sentence that is there; returns the same. */
int error_append(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Moves the error in src (which becomes empty) to dst; returns -err. */
int error_move(struct error *dst, struct error *src);

#if defined(__clang_analyzer__) && !defined(ERROR_IMPLEMENTATION)
/* The analyzer sees one file at a time: tell it that these never return 0. */
#define error_negative_(call)                    \
	({                                       \
		int rc_ = call;                  \
		if (rc_ >= 0)                    \
			__builtin_unreachable(); \
		rc_;                             \
	})
#define error_set(...)    error_negative_(error_set(__VA_ARGS__))
#define error_errno(...)  error_negative_(error_errno(__VA_ARGS__))
#define error_prefix(...) error_negative_(error_prefix(__VA_ARGS__))
#define error_append(...) error_negative_(error_append(__VA_ARGS__))
#define error_move(...)   error_negative_(error_move(__VA_ARGS__))
#endif

#endif
