/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rseq.h"

#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel demands this word before the abort address, as it was told with the area. */
#if defined(__x86_64__)
#define SIGNATURE 0x53053053u
#elif defined(__aarch64__)
#define SIGNATURE 0xd428bc00u
#endif

#define UNREGISTER 1 /* RSEQ_FLAG_UNREGISTER */

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

/* The sequence that nobody enters: no instruction is executed in data. */
static const struct {
	uint32_t signature, abort;
} never = { SIGNATURE, 0 };

/* struct rseq_cs, whose addresses are numbers: filled in once, always with the same values. */
static struct {
	uint32_t version, flags;
	uint64_t start_ip, post_commit_offset, abort_ip;
} sequence __attribute__((aligned(32)));

/* In the thread's own block, that is there as long as the kernel may write to it. */
static __thread struct rseq_area own __attribute__((tls_model("initial-exec")));

static uint64_t sequence_address(void)
{
	return (uint64_t)(uintptr_t)&sequence;
}

static void fill_in_sequence(void)
{
	__atomic_store_n(&sequence.start_ip, (uint64_t)(uintptr_t)&never.signature,
	                 __ATOMIC_RELAXED);
	__atomic_store_n(&sequence.post_commit_offset, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&sequence.abort_ip, (uint64_t)(uintptr_t)&never.abort, __ATOMIC_RELEASE);
}

static struct rseq_area *librarys_area(void)
{
	struct rseq_area *area;

	if (!&__rseq_size || !&__rseq_offset || !__rseq_size)
		return NULL;
	area = (struct rseq_area *)(void *)((char *)__builtin_thread_pointer() + __rseq_offset);
	return *(volatile int32_t *)&area->cpu_id >= 0 ? area : NULL;
}

static struct rseq_area *own_area(void)
{
	own = (struct rseq_area){ 0 };
	return syscall(SYS_rseq, &own, (uint32_t)sizeof(own), 0, SIGNATURE) ? NULL : &own;
}

struct rseq_area *rseq_begin(void)
{
	struct rseq_area *area = librarys_area();

	if (!area)
		area = own_area();
	fill_in_sequence();
	rseq_arm(area);
	return area;
}

void rseq_arm(struct rseq_area *area)
{
	if (area)
		__atomic_store_n(&area->rseq_cs, sequence_address(), __ATOMIC_RELAXED);
}

enum rseq_state rseq_look(const struct rseq_area *area)
{
	uint64_t found = area ? __atomic_load_n(&area->rseq_cs, __ATOMIC_RELAXED) : 1;

	return found == sequence_address() ? RSEQ_ARMED : found ? RSEQ_OTHER : RSEQ_CLEARED;
}

uint32_t rseq_cpu(const struct rseq_area *area)
{
	return area ? *(const volatile uint32_t *)&area->cpu_id : (uint32_t)sched_getcpu();
}

void rseq_end(struct rseq_area *area)
{
	if (rseq_look(area) == RSEQ_ARMED)
		__atomic_store_n(&area->rseq_cs, 0, __ATOMIC_RELAXED);
	if (area == &own)
		syscall(SYS_rseq, &own, (uint32_t)sizeof(own), UNREGISTER, SIGNATURE);
}
