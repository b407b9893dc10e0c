/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isolprobe_tick(): one line in a loop that must not be interrupted, which notices when it was.
 *
 *	struct isolprobe probe;
 *
 *	isolprobe_begin(&probe, 0);
 *	while (running) {
 *		work();
 *		isolprobe_tick(&probe);
 *	}
 *	result = isolprobe_end(&probe);
 *
 * A tick reads the CPU's counter and compares: no system call, no lock, no store. Only a pass of
 * the loop that took too long leaves the loop, and is recorded with its time, its length and
 * whether the kernel took the thread off its CPU. See isolprobe(3).
 *
 * One struct isolprobe belongs to the thread that began it; a thread has at most one. Keep it in a
 * local variable whose address goes nowhere else: then the compiler keeps it in registers.
 * Link with libisolprobe. x86_64 and arm64, C and C++.
 */
#ifndef ISOLPROBE_H
#define ISOLPROBE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct isolprobe {
	uint64_t last;  /* the counter at the last tick */
	uint64_t limit; /* a longer pass, in steps of the counter, is looked at */
	uint64_t ticks;
};

/* What happened to the thread in a gap. */
enum isolprobe_class {
	ISOLPROBE_SWITCHED,  /* off its CPU: another task ran, or it slept */
	ISOLPROBE_RETURN,    /* the kernel had work to do in it: a signal, task work */
	ISOLPROBE_INTERRUPT, /* an interrupt, or something below the kernel: firmware, hypervisor */
	ISOLPROBE_CLASSES
};

struct isolprobe_gap {
	uint64_t start_ns;  /* CLOCK_MONOTONIC at the last tick before it */
	uint64_t length_ns; /* how much longer than usual that pass was */
	uint32_t cpu;
	uint32_t what; /* enum isolprobe_class */
};

/* Bits of isolprobe_result.doubts: why not to believe all of it. */
#define ISOLPROBE_BACKWARDS 1u /* the counter went backwards */
#define ISOLPROBE_MIGRATED  2u /* the thread did not end on the CPU that it began on */
#define ISOLPROBE_NO_RSEQ   4u /* no restartable sequences: RETURN is counted as INTERRUPT */

/* Further members may be added at its end. Lengths and counts are of gaps over the threshold. */
struct isolprobe_result {
	uint64_t elapsed_ns;
	uint64_t busy_ns; /* of these, spent in the probe itself, blind */
	uint64_t ticks;
	uint64_t loop_ns; /* the usual pass: the median of the first ones */
	uint64_t threshold_ns;
	uint64_t n_gaps, total_ns, max_ns;
	struct {
		uint64_t n, total_ns, max_ns;
	} by_class[ISOLPROBE_CLASSES];
	uint64_t quiet_ns; /* the longest stretch without a gap */
	uint32_t doubts;   /* ISOLPROBE_BACKWARDS, ... */
	uint32_t n_worst, n_first;
	const struct isolprobe_gap *worst; /* the longest ones, longest first */
	const struct isolprobe_gap *first; /* the first ones */
};

/*
 * Begins for the calling thread, in about 2 ms. threshold_ns: how long a gap must be to count as a
 * break; 0: found from what the loop and this machine show in the first 0.3 seconds.
 * Returns 0, or -EBUSY (the thread has begun already), -ENOMEM or -ENOTSUP (no usable counter);
 * after that ticks are harmless, and isolprobe_end() returns NULL.
 */
int isolprobe_begin_(struct isolprobe *probe, uint64_t threshold_ns);

/* Ends, and returns what was found, to be freed by isolprobe_free(). NULL: nothing had begun, or
 * there is no memory. */
struct isolprobe_result *isolprobe_end_(const struct isolprobe *probe);
void isolprobe_free(struct isolprobe_result *result);

/* How many gaps over the threshold the calling thread has had so far. Cheap: no system call. */
uint64_t isolprobe_broken(void);

/* The length, in ns, below which the given percentage of the gaps over the threshold is: 0 to 100,
 * within 1 %. 0 if there are no gaps. */
uint64_t isolprobe_percentile(const struct isolprobe_result *result, double percent);

/* The rest is the inside of the inline functions. */

struct isolprobe_mark {
	uint64_t last, limit;
};
struct isolprobe_mark isolprobe_gap_(uint64_t last, uint64_t now) __attribute__((cold, noinline));

/* The counter: rdtsc or cntvct_el0, without a fence. */
static inline uint64_t isolprobe_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now;
#else
#error "isolprobe knows the counters of x86_64 and arm64 only"
#endif
}

static inline int isolprobe_begin(struct isolprobe *probe, uint64_t threshold_ns)
{
	/* A copy: so the address of *probe is known to nobody, and its members can be registers. */
	struct isolprobe begun;
	int rc = isolprobe_begin_(&begun, threshold_ns);

	*probe = begun;
	return rc;
}

static inline void isolprobe_tick(struct isolprobe *probe)
{
	uint64_t now = isolprobe_counter();

	probe->ticks++;
	if (__builtin_expect(now - probe->last > probe->limit, 0)) {
		struct isolprobe_mark mark = isolprobe_gap_(probe->last, now);

		probe->last = mark.last;
		probe->limit = mark.limit;
	} else {
		probe->last = now;
	}
}

static inline struct isolprobe_result *isolprobe_end(const struct isolprobe *probe)
{
	struct isolprobe ended = *probe;

	return isolprobe_end_(&ended);
}

#ifdef __cplusplus
}
#endif

#endif
