/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inside of libisolprobe-preload.so, which is not the library that programs link: it puts
 * itself before functions of libc and has a thread, "chisol-probe". All of it does nothing unless
 * chisol has ordered it, and in children (attach.h).
 *
 * thread.c    the thread, and threads of the program that begin and end
 * calls.c     the functions of libc that can interrupt other threads: who calls them, from where
 * isolate.c   task isolation for threads with certain names
 * resolve.c   which function of which object called
 */
#ifndef PROBE_PRELOAD_H
#define PROBE_PRELOAD_H

#include <pthread.h>

#include "../attach.h"

#define EXPORTED __attribute__((visibility("default")))

/* The record, if its orders are to follow the threads; else NULL. Async-signal-safe. */
struct record *following(void);

/* A system call of its own kind, for when libc's wrappers are not known yet; -errno on failure. */
long preload_syscall(long number, long a, long b, long c, long d, long e, long f);

/* The next definition of a function after this library's; ends the process if there is none. */
void *preload_next(const char *name);

/* The calling thread's place in the record; NULL: none. */
struct record_thread *preload_self(void);
/* Its number, by a system call only if no filter could forbid that; 0: not known. */
uint32_t preload_tid(void);
/* A thread is about to be made; it was not; it begins, which it tells itself. */
void thread_expected(void);
void thread_not_expected(void);
void thread_begins(struct record *record);
/* The thread "chisol-probe" makes way, for good, for a call that the kernel refuses to a process
 * with more than one thread, or that would make it subject to a filter. */
void thread_withdraw(void);
/* The same for a moment: while the program changes its credentials, which glibc does in all threads
 * and then ends the process if it did not go alike in all, and which a thread that is begun later
 * has from the one that begins it. If suspended, it has to be resumed. */
bool thread_suspend(void);
void thread_resume(void);
/* The program has put a filter on its system calls: no further ones are made in its threads. */
void thread_filtered(void);

/* Notes a call of libc by the program. site: its return address. */
void call_note(enum record_call_kind kind, void *site);

/* The calling thread has got this name; another one has. */
void isolate_if_named(const struct record *record, struct record_thread *self, const char *name);
void isolate_later(struct record *record, pthread_t other, const char *name);
/* What was left for later. */
void isolate_if_pending(const struct record *record, struct record_thread *self);

/* Fills in object and symbol of the calls that have none yet. Not async-signal-safe. */
void resolve_sites(struct record *record);

#endif
