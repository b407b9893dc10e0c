/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of libc that make the kernel interrupt the other threads of a process: to flush their
 * TLBs (munmap, mprotect, ...), to run something on their CPUs (membarrier, mlockall, which drains
 * per-CPU lists), or by what a new thread or a loaded library does of these. Each is noted and
 * passed on. What libc calls inside (free() of large blocks, stacks of threads) and what a program
 * does by system calls of its own is not seen.
 *
 * All of it may be called from signal handlers, in the child of vfork(), and before the
 * constructors of this library have run.
 */
#include "preload.h"
#include "../monotonic.h"

#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME /* Linux 5.6 */
#define CLONE_NEWTIME 0x80
#endif

#define PROBES 16u /* places in the table that are tried */

long preload_syscall(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b,
			 x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e,
			 x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
	                 : "+r"(x0)
	                 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
	                 : "memory");
	return x0;
#endif
}

static long with_errno(long result)
{
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

void *preload_next(const char *name)
{
	void *next = dlsym(RTLD_NEXT, name);

	if (!next)
		abort(); /* the dynamic loader has bound the program's call to nothing else */
	return next;
}

/* Is a thread other than the calling one on the workload's CPUs? */
static bool disturbs_others(const struct record *record)
{
	uint32_t n_hot = __atomic_load_n(&record->library.n_hot, __ATOMIC_RELAXED);
	int cpu;

	if (!n_hot)
		return false;
	cpu = sched_getcpu();
	return n_hot > 1 || cpu < 0 || !record_cpus_test(&record->orders.workload, (uint32_t)cpu);
}

static struct record_call *claim_call(struct record *record, uint64_t site, uint32_t kind,
                                      uint32_t tid)
{
	uint64_t hash = (site ^ (uint64_t)tid << 32 ^ (uint64_t)kind << 56) * 0x9e3779b97f4a7c15u;

	for (uint32_t i = 0; i < PROBES; i++) {
		struct record_call *call = &record->calls[((hash >> 40) + i) % RECORD_CALLS];
		uint64_t nobody = 0;

		if (__atomic_load_n(&call->site, __ATOMIC_ACQUIRE) == site && call->kind == kind &&
		    call->tid == tid)
			return call;
		if (!__atomic_compare_exchange_n(&call->site, &nobody, site, false,
		                                 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		call->tid = tid;
		call->first_ns = monotonic_ns();
		__atomic_store_n(&call->kind, kind, __ATOMIC_RELEASE);
		return call;
	}
	return NULL;
}

void call_note(enum record_call_kind kind, void *site)
{
	struct record *record = following();
	struct record_call *call;

	if (!record)
		return;
	isolate_if_pending(record, preload_self());
	if (!disturbs_others(record))
		return;
	call = claim_call(record, (uint64_t)(uintptr_t)site, kind, preload_tid());
	if (!call) {
		__atomic_add_fetch(&record->library.calls_omitted, 1, __ATOMIC_RELAXED);
		return;
	}
	call->last_ns = monotonic_ns();
	__atomic_add_fetch(&call->n, 1, __ATOMIC_RELAXED);
}

/* The next definition of a function, found by a constructor. */
#define NEXT(name)                                                      \
	static __typeof__(&name) next_##name;                           \
	__attribute__((constructor(102))) static void find_##name(void) \
	{                                                               \
		void *next = preload_next(#name);                       \
                                                                        \
		memcpy(&next_##name, &next, sizeof(next));              \
	}

/*
 * One function that is noted and passed on. Who calls before the constructor (another preloaded
 * library's, such as an allocator's) gets what "early" does.
 */
#define PASS_ON(kind, type, name, parameters, arguments, early) \
	NEXT(name)                                              \
	EXPORTED type name parameters                           \
	{                                                       \
		if (!next_##name)                               \
			early;                                  \
		call_note(kind, __builtin_return_address(0));   \
		return next_##name arguments;                   \
	}

/* One that changes the credentials of all threads. */
#define CHANGE_CREDENTIALS(name, parameters, arguments) \
	NEXT(name)                                      \
	EXPORTED int name parameters                    \
	{                                               \
		bool suspended = thread_suspend();      \
		int rc, error;                          \
                                                        \
		if (!next_##name)                       \
			find_##name();                  \
		rc = next_##name arguments;             \
		error = errno;                          \
		if (suspended)                          \
			thread_resume();                \
		errno = error;                          \
		return rc;                              \
	}

#define FIND_NEXT(next, name)                                     \
	do {                                                      \
		void *found = (next) ? NULL : preload_next(name); \
                                                                  \
		if (found)                                        \
			memcpy(&(next), &found, sizeof(found));   \
	} while (0)

#define BY_KERNEL(type, name, a, b, c, d) \
	return (type)with_errno(          \
		preload_syscall(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0))
#define FIND(name) find_##name()

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's are reserved names */

PASS_ON(RECORD_MUNMAP, int, munmap, (void *address, size_t length), (address, length),
        BY_KERNEL(int, munmap, address, length, 0, 0))
PASS_ON(RECORD_MPROTECT, int, mprotect, (void *address, size_t length, int protection),
        (address, length, protection), BY_KERNEL(int, mprotect, address, length, protection, 0))
PASS_ON(RECORD_MADVISE, int, madvise, (void *address, size_t length, int advice),
        (address, length, advice), BY_KERNEL(int, madvise, address, length, advice, 0))
PASS_ON(RECORD_MLOCK, int, mlock, (const void *address, size_t length), (address, length),
        BY_KERNEL(int, mlock, address, length, 0, 0))
PASS_ON(RECORD_MLOCK, int, mlock2, (const void *address, size_t length, unsigned int flags),
        (address, length, flags), BY_KERNEL(int, mlock2, address, length, flags, 0))
PASS_ON(RECORD_MLOCK, int, munlock, (const void *address, size_t length), (address, length),
        BY_KERNEL(int, munlock, address, length, 0, 0))
PASS_ON(RECORD_MLOCK, int, mlockall, (int flags), (flags), BY_KERNEL(int, mlockall, flags, 0, 0, 0))
PASS_ON(RECORD_MLOCK, int, munlockall, (void), (), BY_KERNEL(int, munlockall, 0, 0, 0, 0))
PASS_ON(RECORD_FORK, pid_t, fork, (void), (), FIND(fork))
PASS_ON(RECORD_SPAWN, int, posix_spawn,
        (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,
         const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]),
        (pid, path, actions, attributes, argv, envp), FIND(posix_spawn))
PASS_ON(RECORD_SPAWN, int, posix_spawnp,
        (pid_t * pid, const char *file, const posix_spawn_file_actions_t *actions,
         const posix_spawnattr_t *attributes, char *const argv[], char *const envp[]),
        (pid, file, actions, attributes, argv, envp), FIND(posix_spawnp))
PASS_ON(RECORD_AFFINITY, int, sched_setaffinity, (pid_t pid, size_t size, const cpu_set_t *cpus),
        (pid, size, cpus), FIND(sched_setaffinity))
PASS_ON(RECORD_AFFINITY, int, pthread_setaffinity_np,
        (pthread_t thread, size_t size, const cpu_set_t *cpus), (thread, size, cpus),
        FIND(pthread_setaffinity_np))
PASS_ON(RECORD_DLOPEN, int, dlclose, (void *handle), (handle), FIND(dlclose))

/* The fifth argument is there only with some flags; passed on it is always right. */
EXPORTED void *mremap(void *address, size_t old_size, size_t new_size, int flags, ...)
{
	void *new_address;
	va_list ap;

	va_start(ap, flags);
	new_address = va_arg(ap, void *);
	va_end(ap);
	call_note(RECORD_MREMAP, __builtin_return_address(0));
	return (void *)with_errno(preload_syscall(SYS_mremap, (long)address, (long)old_size,
	                                          (long)new_size, flags, (long)new_address, 0));
}

/* What a thread is to run, until it runs: one of the two. */
struct start {
	void *(*routine)(void *);
	thrd_start_t routine_of_c;
	void *arg;
	struct start *next; /* among those that have been taken */
};

/* For the next thread that makes threads: a new one that calls free() gets an arena of malloc()'s
 * for that, by mmap() and munmap(), which interrupt the others. */
static struct start *taken;

static struct start take_start(void *arg)
{
	struct start *made = arg, start = *made;
	struct record *record = following();

	made->next = __atomic_load_n(&taken, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&taken, &made->next, made, true, __ATOMIC_RELEASE,
	                                    __ATOMIC_RELAXED))
		;
	if (record) {
		__atomic_add_fetch(&record->library.n_created, 1, __ATOMIC_RELAXED);
		thread_begins(record);
	}
	return start;
}

static void *run_thread(void *arg)
{
	struct start start = take_start(arg);

	return start.routine(start.arg);
}

static int run_thread_of_c(void *arg)
{
	struct start start = take_start(arg);

	return start.routine_of_c(start.arg);
}

static void free_taken(void)
{
	struct start *start = __atomic_exchange_n(&taken, NULL, __ATOMIC_ACQUIRE);

	while (start) {
		struct start *next = start->next;

		free(start);
		start = next;
	}
}

/* NULL: nobody follows, or there is no memory, and the thread is not known until it is seen. */
static struct start *make_start(struct start start)
{
	struct start *made;

	free_taken();
	made = following() ? malloc(sizeof(*made)) : NULL;
	if (!made)
		return NULL;
	*made = start;
	thread_expected();
	return made;
}

static void drop_start(struct start *start)
{
	if (!start)
		return;
	free(start);
	thread_not_expected();
}

EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
                            void *arg)
{
	static __typeof__(&pthread_create) next;
	struct start *start = make_start((struct start){ .routine = routine, .arg = arg });
	int rc;

	FIND_NEXT(next, "pthread_create");
	call_note(RECORD_THREAD_CREATE, __builtin_return_address(0));
	rc = start ? next(thread, attr, run_thread, start) : next(thread, attr, routine, arg);
	if (rc)
		drop_start(start);
	return rc;
}

EXPORTED int thrd_create(thrd_t *thread, thrd_start_t routine, void *arg)
{
	static __typeof__(&thrd_create) next;
	struct start *start = make_start((struct start){ .routine_of_c = routine, .arg = arg });
	int rc;

	FIND_NEXT(next, "thrd_create");
	call_note(RECORD_THREAD_CREATE, __builtin_return_address(0));
	rc = start ? next(thread, run_thread_of_c, start) : next(thread, routine, arg);
	if (rc != thrd_success)
		drop_start(start);
	return rc;
}

/*
 * dlopen() asks who its caller is, for $ORIGIN and the caller's search path, and takes that from
 * its return address: so it is jumped to, not called.
 */
void *(*next_dlopen)(const char *, int)__attribute__((visibility("hidden")));
void note_dlopen(void *site) __attribute__((visibility("hidden")));

void note_dlopen(void *site)
{
	FIND_NEXT(next_dlopen, "dlopen");
	call_note(RECORD_DLOPEN, site);
}

__asm__(".text\n"
        ".globl dlopen\n"
        ".type dlopen, %function\n"
        "dlopen:\n"
#if defined(__x86_64__)
        "	endbr64\n"
        "	push %rdi\n"
        "	push %rsi\n"
        "	sub $8, %rsp\n"
        "	mov 24(%rsp), %rdi\n"
        "	call note_dlopen\n"
        "	add $8, %rsp\n"
        "	pop %rsi\n"
        "	pop %rdi\n"
        "	jmp *next_dlopen(%rip)\n"
#elif defined(__aarch64__)
        "	stp x29, x30, [sp, #-32]!\n"
        "	mov x29, sp\n"
        "	stp x0, x1, [sp, #16]\n"
        "	mov x0, x30\n"
        "	bl note_dlopen\n"
        "	ldp x0, x1, [sp, #16]\n"
        "	ldp x29, x30, [sp], #32\n"
        "	adrp x16, next_dlopen\n"
        "	ldr x16, [x16, #:lo12:next_dlopen]\n"
        "	br x16\n"
#endif
        ".size dlopen, .-dlopen\n");

CHANGE_CREDENTIALS(setuid, (uid_t uid), (uid))
CHANGE_CREDENTIALS(setgid, (gid_t gid), (gid))
CHANGE_CREDENTIALS(seteuid, (uid_t uid), (uid))
CHANGE_CREDENTIALS(setegid, (gid_t gid), (gid))
CHANGE_CREDENTIALS(setreuid, (uid_t real, uid_t effective), (real, effective))
CHANGE_CREDENTIALS(setregid, (gid_t real, gid_t effective), (real, effective))
CHANGE_CREDENTIALS(setresuid, (uid_t real, uid_t effective, uid_t saved), (real, effective, saved))
CHANGE_CREDENTIALS(setresgid, (gid_t real, gid_t effective, gid_t saved), (real, effective, saved))
CHANGE_CREDENTIALS(setgroups, (size_t n, const gid_t *groups), (n, groups))
CHANGE_CREDENTIALS(initgroups, (const char *user, gid_t group), (user, group))
/* Of one thread, and so not of the library's. libc has it, and no header of its own for it. */
int capset(cap_user_header_t header, cap_user_data_t data);
CHANGE_CREDENTIALS(capset, (cap_user_header_t header, cap_user_data_t data), (header, data))

/* By number; the same by names is above. */
static bool changes_credentials(long number)
{
	static const long numbers[] = { SYS_setuid,    SYS_setgid,    SYS_setreuid,  SYS_setregid,
		                        SYS_setresuid, SYS_setresgid, SYS_setgroups, SYS_capset };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i] == number)
			return true;
	return false;
}

/* System calls by number that are noted. */
static const struct {
	long number;
	enum record_call_kind kind;
} by_number[] = {
	{ SYS_membarrier, RECORD_MEMBARRIER },
	{ SYS_munmap, RECORD_MUNMAP },
	{ SYS_mprotect, RECORD_MPROTECT },
	{ SYS_madvise, RECORD_MADVISE },
	{ SYS_mremap, RECORD_MREMAP },
	{ SYS_mlock, RECORD_MLOCK },
	{ SYS_mlock2, RECORD_MLOCK },
	{ SYS_munlock, RECORD_MLOCK },
	{ SYS_mlockall, RECORD_MLOCK },
	{ SYS_munlockall, RECORD_MLOCK },
	{ SYS_sched_setaffinity, RECORD_AFFINITY },
};

/* These are not noted: the thread makes way for them, or they name a thread. */
#define WITHDRAW_FLAGS (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)

EXPORTED int unshare(int flags)
{
	if (flags & WITHDRAW_FLAGS)
		thread_withdraw();
	return (int)with_errno(preload_syscall(SYS_unshare, flags, 0, 0, 0, 0, 0));
}

/* setns(2) into one of these needs a process without other threads, or whose threads do not share
 * their root directory; 0 may be any. */
#define ALONE_FLAGS (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWTIME)

static bool enters_alone(long type)
{
	return !type || type & ALONE_FLAGS;
}

EXPORTED int setns(int fd, int type)
{
	if (enters_alone(type))
		thread_withdraw();
	return (int)with_errno(preload_syscall(SYS_setns, fd, type, 0, 0, 0, 0));
}

static void got_name(const char *name)
{
	struct record *record = following();
	char copy[RECORD_NAME] = "";

	if (!record || !record->orders.n_patterns)
		return;
	/* The kernel takes no more of it, and so it need not end. */
	memccpy(copy, name, '\0', sizeof(copy) - 1);
	isolate_if_named(record, preload_self(), copy);
}

/* Not those who only ask whether they could, as libseccomp does. */
static bool is_filter(unsigned long operation, unsigned long program)
{
	return operation == SECCOMP_SET_MODE_STRICT ||
	       (operation == SECCOMP_SET_MODE_FILTER && program);
}

/* Modes of prctl(2) are the operations of seccomp(2), counted from 1. */
static bool is_filter_by_prctl(unsigned long option, unsigned long mode, unsigned long program)
{
	return option == PR_SET_SECCOMP && is_filter(mode - SECCOMP_MODE_STRICT, program);
}

EXPORTED int prctl(int option, ...)
{
	unsigned long args[4];
	long result;
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		args[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (is_filter_by_prctl((unsigned long)option, args[0], args[1]))
		thread_filtered();
	result = preload_syscall(SYS_prctl, option, (long)args[0], (long)args[1], (long)args[2],
	                         (long)args[3], 0);
	if (!result && option == PR_SET_NAME)
		got_name((const char *)args[0]);
	return (int)with_errno(result);
}

EXPORTED long syscall(long number, ...)
{
	bool filters, suspended;
	long args[6], result;
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		args[i] = va_arg(ap, long);
	va_end(ap);
	for (size_t i = 0; i < sizeof(by_number) / sizeof(*by_number); i++)
		if (by_number[i].number == number)
			call_note(by_number[i].kind, __builtin_return_address(0));
	filters =
		number == SYS_seccomp && is_filter((unsigned long)args[0], (unsigned long)args[2]);
	if (filters || (number == SYS_prctl &&
	                is_filter_by_prctl((unsigned long)args[0], (unsigned long)args[1],
	                                   (unsigned long)args[2])))
		thread_filtered();
	/* A filter for all threads, made for those of the program, could end this one, and with it
	 * the program. */
	if ((number == SYS_setns && enters_alone(args[1])) ||
	    (number == SYS_unshare && args[0] & WITHDRAW_FLAGS) ||
	    (filters && args[1] & SECCOMP_FILTER_FLAG_TSYNC))
		thread_withdraw();
	suspended = changes_credentials(number) && thread_suspend();
	result = preload_syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]);
	if (suspended)
		thread_resume();
	if (!result && number == SYS_prctl && args[0] == PR_SET_NAME)
		got_name((const char *)args[1]);
	return with_errno(result);
}

EXPORTED int pthread_setname_np(pthread_t thread, const char *name)
{
	static __typeof__(&pthread_setname_np) next;
	struct record *record = following();
	int rc;

	FIND_NEXT(next, "pthread_setname_np");
	rc = next(thread, name);
	if (rc || !record)
		return rc;
	if (pthread_equal(thread, pthread_self()))
		isolate_if_named(record, preload_self(), name);
	else
		isolate_later(record, thread, name);
	return 0;
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
