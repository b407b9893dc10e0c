/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reason codes: the stable words that tell a program why a setting is as it is. A code never
 * changes its meaning; new ones may be added. chisol(1) lists them, and a test holds the two
 * lists against each other.
 */
#ifndef ISOLCORE_REASON_H
#define ISOLCORE_REASON_H

#include <stdbool.h>

/* X(identifier, code, meaning) */
#define REASONS(X)                                                                                 \
	X(GRANTED, "granted", "written and read back as wanted")                                   \
	X(ALREADY, "already", "found as wanted; nothing was written")                              \
	X(PENDING, "pending", "accepted; takes effect later, such as with the next interrupt")     \
	X(BY_KERNEL, "by-kernel", "done by the kernel's task isolation interface")                 \
	X(BY_PLACEMENT, "by-placement", "met because the kernel keeps it off isolated CPUs")       \
	X(BY_STAND_IN, "by-stand-in", "replaced by something weaker")                              \
	X(NOT_PERMITTED, "not-permitted", "a privilege is missing")                                \
	X(READ_ONLY, "read-only", "the file or its file system is read-only")                      \
	X(ABSENT, "absent", "this kernel or machine does not have it")                             \
	X(UNREADABLE, "unreadable", "the present value could not be read")                         \
	X(INVALID_VALUE, "invalid-value", "the kernel does not accept the value here")             \
	X(BUSY, "busy", "the kernel refuses as long as something else uses it")                    \
	X(READ_BACK_DIFFERS, "read-back-differs", "the write succeeded, the value is another one") \
	X(IO_ERROR, "io-error", "any other error of the system call")                              \
	X(MANAGED_IRQ, "managed-irq", "the kernel places this interrupt; user space cannot")       \
	X(PER_CPU_IRQ, "per-cpu-irq", "this interrupt belongs to one CPU")                         \
	X(BOUND_THREAD, "bound-thread", "a kernel thread that nobody can move")                    \
	X(NO_VECTOR, "no-vector", "the remaining CPUs have no free interrupt vector")              \
	X(IRQ_GONE, "irq-gone", "the interrupt was freed in the meantime")                         \
	X(NEW_IRQ, "new-irq", "an interrupt that appeared during the run")                         \
	X(KEPT, "kept", "left alone, as the profile asks")                                         \
	X(PARTITION_INVALID, "partition-invalid", "the kernel made the partition invalid")         \
	X(BOOT_ISOLATED, "boot-isolated",                                                          \
	  "the CPUs are isolated since boot; no partition is made")                                \
	X(NO_CONTROLLER, "no-controller", "no cgroup hierarchy has the cpuset controller")         \
	X(NOT_DELEGATED, "not-delegated", "the cgroup tree above belongs to somebody else")        \
	X(CPU_CONFLICT, "cpu-conflict", "another group claims these CPUs")                         \
	X(KERNEL_DEFECT, "kernel-defect", "this kernel version is known to fail here")             \
	X(THREADS_STACK, "threads-stack", "without load balancing threads share one CPU")          \
	X(NO_INTERFACE, "no-interface", "this kernel has no task isolation interface")             \
	X(NOT_RUNNING, "not-running", "the program that it is about does not run")                 \
	X(NO_SOCKET, "no-socket", "the program runs, but cannot be told")                          \
	X(FOREIGN_CHANGE, "foreign-change", "somebody else changed it since; left alone")          \
	X(RESTORE_FAILED, "restore-failed", "could not be put back")                               \
	X(HANDED_OVER, "handed-over", "another run still needs it and will put it back")           \
	X(GONE, "gone", "what it was about does not exist any more")

#define REASON_DECLARE(id, code, meaning) extern const char REASON_##id[];
REASONS(REASON_DECLARE)
#undef REASON_DECLARE

struct reason_row {
	const char *code;
	const char *meaning;
};

extern const struct reason_row reason_table[];
extern const unsigned int n_reasons;
/* The row of a code; NULL for NULL and what is no code. */
const struct reason_row *reason_find(const char *code);

/* The reason that an errno of a write stands for, where nobody knows better. */
const char *reason_of_errno(int err);
/* Does the errno say that what was read or written does not exist (any more)? */
bool errno_is_absent(int err);

#endif
