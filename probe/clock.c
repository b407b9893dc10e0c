/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "clock.h"
#include "monotonic.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "isolprobe.h"

#define FIT_SHIFT    50 /* a step of 1 us still fits, and one of 0.1 ns has 46 bits */
#define POINT_TRIES  32
#define QUICK_FIT_NS 1000000

uint64_t clock_ns(const struct clock_scale *scale, uint64_t steps)
{
	return (uint64_t)((unsigned __int128)steps * scale->mult >> scale->shift);
}

uint64_t clock_steps(const struct clock_scale *scale, uint64_t ns)
{
	return (uint64_t)(((unsigned __int128)ns << scale->shift) / scale->mult);
}

double clock_hz(const struct clock_scale *scale)
{
	return 1e9 * (double)((uint64_t)1 << scale->shift) / (double)scale->mult;
}

struct clock_point clock_now(void)
{
	struct clock_point best = { .width = UINT64_MAX };

	for (int i = 0; i < POINT_TRIES; i++) {
		uint64_t before = isolprobe_counter(), ns = monotonic_ns();
		uint64_t width = isolprobe_counter() - before;

		if (width < best.width)
			best = (struct clock_point){ before + width / 2, ns, width };
	}
	return best;
}

uint64_t clock_at(const struct clock_scale *scale, const struct clock_point *point, uint64_t steps)
{
	if (steps >= point->steps)
		return point->ns + clock_ns(scale, steps - point->steps);
	return point->ns - clock_ns(scale, point->steps - steps);
}

/* The page changes under a sequence lock, Documentation in <linux/perf_event.h>. */
static int read_page(const struct perf_event_mmap_page *page, struct clock_scale *scale)
{
	uint32_t seq;
	bool offered;

	do {
		seq = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		offered = page->cap_user_time;
		scale->mult = page->time_mult;
		scale->shift = page->time_shift;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (seq != __atomic_load_n(&page->lock, __ATOMIC_RELAXED));
	return offered && scale->mult && scale->shift < 64 ? 0 : -ENOTSUP;
}

int clock_kernel_scale(struct clock_scale *scale)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.disabled = 1,
	};
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, sched_getcpu(), -1,
	                      PERF_FLAG_FD_CLOEXEC);
	int rc;
	void *page;

	if (fd < 0)
		return -errno;
	page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	rc = page == MAP_FAILED ? -errno : read_page(page, scale);
	if (page != MAP_FAILED)
		munmap(page, size);
	close(fd);
	return rc;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

int clock_fit(struct clock_scale *scale, const struct clock_point *points, size_t n,
              uint64_t *off_ns)
{
	const struct clock_point *first = points, *last = points + n - 1;

	*off_ns = 0;
	if (n < 2 || last->steps <= first->steps || last->ns <= first->ns)
		return -EINVAL;
	scale->shift = FIT_SHIFT;
	scale->mult = (uint64_t)(((unsigned __int128)(last->ns - first->ns) << FIT_SHIFT) /
	                         (last->steps - first->steps));
	if (!scale->mult)
		return -EINVAL;
	for (const struct clock_point *p = first; p < last; p++) {
		uint64_t off = distance(clock_at(scale, first, p->steps), p->ns);
		uint64_t width = clock_ns(scale, first->width + p->width + last->width);

		if (off > width && off - width > *off_ns)
			*off_ns = off - width;
	}
	return 0;
}

int clock_fit_quickly(struct clock_scale *scale)
{
	struct clock_point points[2] = { clock_now() };
	uint64_t off_ns;

	do
		points[1] = clock_now();
	while (points[1].ns - points[0].ns < QUICK_FIT_NS);
	return clock_fit(scale, points, 2, &off_ns);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The value that is most frequent in a sorted list, 0 left out; 0 if there is no other. */
static uint64_t mode(const uint64_t *sorted, size_t n)
{
	uint64_t best = 0;
	size_t most = 0;

	for (size_t i = 0, run; i < n; i += run) {
		for (run = 1; i + run < n && sorted[i + run] == sorted[i];)
			run++;
		if (sorted[i] && run > most) {
			most = run;
			best = sorted[i];
		}
	}
	return best;
}

struct clock_quality clock_judge(uint64_t *reads, size_t n)
{
	struct clock_quality q = { 0 };
	size_t n_deltas = 0;

	for (size_t i = 1; i < n; i++) {
		uint64_t before = reads[i - 1], now = reads[i];

		/* The place of an earlier read takes the difference: it has been looked at. */
		if (now < before)
			q.backwards++;
		else
			reads[n_deltas++] = now - before;
	}
	qsort(reads, n_deltas, sizeof(*reads), compare);
	if (!n_deltas)
		return q;
	q.granularity = mode(reads, n_deltas);
	q.median = reads[n_deltas / 2];
	/* A mean, as a coarse counter's median is one of few values; without what interrupted. */
	n_deltas -= n_deltas / 10;
	for (size_t i = 0; i < n_deltas; i++)
		q.read_cost += (double)reads[i] / (double)n_deltas;
	return q;
}

struct clock_quality clock_examine(void)
{
	uint64_t reads[CLOCK_READS];

	for (size_t i = 0; i < CLOCK_READS; i++)
		reads[i] = isolprobe_counter();
	return clock_judge(reads, CLOCK_READS);
}
