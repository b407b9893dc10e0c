/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory and descriptors: allocation that does not fail, and attributes that give one exit path.
 *
 * An allocation that cannot be met calls mem_exhausted, which must not return. The launcher points
 * it at a function that ends it, and that has the machine given back from the journal in a fresh
 * process image; without one it aborts. So no caller checks for NULL, and no half-done state comes
 * from an unchecked one.
 */
#ifndef ISOLCORE_MEM_H
#define ISOLCORE_MEM_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void (*mem_exhausted)(void);
/* For who asks others for memory, and gets none: calls it, or aborts. */
void out_of_memory(void) __attribute__((noreturn));

void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
/* Grows an array to hold at least need elements; *room is the number of elements there is room for.
 */
void *xgrow(void *array, size_t need, size_t *room, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull, nonnull));
char *xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull, nonnull));
char *xasprintf(const char *fmt, ...)
	__attribute__((malloc, returns_nonnull, format(printf, 1, 2)));
char *xvasprintf(const char *fmt, va_list ap)
	__attribute__((malloc, returns_nonnull, format(printf, 1, 0)));
/* Appends to *text, which may be NULL. */
void xappend(char **text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A stream whose text becomes *text, to be freed, when xclose_memory() ends it. */
FILE *xopen_memory(char **text, size_t *size) __attribute__((returns_nonnull));
void xclose_memory(FILE *stream);
/* Replaces *slot by the formatted text, or by NULL if fmt is NULL. */
void xvreplace(char **slot, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Replaces *slot by a copy of s (NULL allowed), freeing what was there. */
void xreplace(char **slot, const char *s);

static inline void cleanup_freep(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_closep(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

/* The owner of a pointer or descriptor hands it on: the cleanup attribute then finds nothing. */
static inline int take_fd(int *fd)
{
	int value = *fd;

	*fd = -1;
	return value;
}

static inline void *take_ptr_(void **p)
{
	void *value = *p;

	*p = NULL;
	return value;
}
#define take_ptr(p) take_ptr_((void **)(p))

#define _cleanup_(f)     __attribute__((cleanup(f)))
#define _cleanup_free_   _cleanup_(cleanup_freep)
#define _cleanup_close_  _cleanup_(cleanup_closep)
#define _cleanup_fclose_ _cleanup_(cleanup_fclosep)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
