/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program with a loop that ticks, in ways that chisol is to cope with. Prints its process number,
 * a line "ticks" when it has begun, and "breaks N" at its end.
 *
 *	ticker MS		ticks for a time
 *	ticker MS again N	and again, N times, by begin and end
 *	ticker MS threads N	in N threads at once
 *	ticker MS leave N	in N threads one after the other, without isolprobe_end()
 *	ticker MS fork		forks in the middle; the child ticks on with what it has
 *	ticker MS exit		without isolprobe_end()
 *	ticker MS rseq		and then has restartable sequences of its own; and before
 *	ticker MS late		is busy with something else for as long before
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../probe/isolprobe.h"

static long ms;

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void tick_for(struct isolprobe *probe, double length)
{
	double end = now_ms() + length;

	do
		for (int i = 0; i < 1000; i++)
			isolprobe_tick(probe);
	while (now_ms() < end);
}

static unsigned long long tick_once(void)
{
	struct isolprobe probe;
	struct isolprobe_result *result;
	unsigned long long n;

	if (isolprobe_begin(&probe, 2000))
		exit(3);
	tick_for(&probe, (double)ms);
	result = isolprobe_end(&probe);
	if (!result)
		exit(4);
	n = result->n_gaps;
	isolprobe_free(result);
	return n;
}

static void *tick_in_thread(void *arg)
{
	(void)arg;
	tick_once();
	return NULL;
}

static int in_threads(long n)
{
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));

	for (long i = 0; threads && i < n; i++)
		if (pthread_create(&threads[i], NULL, tick_in_thread, NULL))
			return 5;
	for (long i = 0; threads && i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return 0;
}

static void *tick_and_leave(void *arg)
{
	struct isolprobe probe;

	if (isolprobe_begin(&probe, 2000))
		exit(3);
	tick_for(&probe, (double)ms);
	return arg;
}

/* After a few, time for chisol to notice. */
static int leave_threads(long n)
{
	pthread_t thread;

	for (long i = 1; i <= n; i++) {
		if (pthread_create(&thread, NULL, tick_and_leave, NULL))
			return 5;
		pthread_join(thread, NULL);
		if (i % 16 == 0)
			usleep(1000000);
	}
	return 0;
}

/* Of a shared record the child has nothing, and ticks without harm. */
static int with_fork(void)
{
	struct isolprobe probe;
	int status = -1;
	pid_t child;

	if (isolprobe_begin(&probe, 2000))
		return 3;
	tick_for(&probe, (double)ms / 2);
	child = fork();
	tick_for(&probe, (double)ms / 2);
	if (!child) {
		isolprobe_broken();
		isolprobe_free(isolprobe_end(&probe));
		_exit(isolprobe_begin(&probe, 2000) ? 6 : 0);
	}
	waitpid(child, &status, 0);
	isolprobe_free(isolprobe_end(&probe));
	return status ? 7 : 0;
}

#ifdef __aarch64__
#define SIGNATURE 0xd428bc00
#else
#define SIGNATURE 0x53053053
#endif

static bool register_area(void *area, int flags)
{
	return !syscall(SYS_rseq, area, 32, flags, SIGNATURE);
}

/* To be run without those of the C library: GLIBC_TUNABLES=glibc.pthread.rseq=0. */
static int with_sequences(void)
{
	static char area[32] __attribute__((aligned(32)));
	struct isolprobe_result *result;
	struct isolprobe probe;
	int rc = 0;

	tick_once();
	if (!register_area(area, 0))
		return 8;
	if (isolprobe_begin(&probe, 2000))
		return 3;
	tick_for(&probe, (double)ms);
	result = isolprobe_end(&probe);
	if (!result || !(result->doubts & ISOLPROBE_NO_RSEQ))
		rc = 9;
	isolprobe_free(result);
	return register_area(area, 1) ? rc : 10;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	long n = argc > 3 ? strtol(argv[3], NULL, 10) : 1;
	unsigned long long breaks = 0;
	struct isolprobe probe;

	ms = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	printf("%d\nticks\n", (int)getpid());
	fflush(stdout);
	if (!strcmp(how, "threads"))
		return in_threads(n);
	if (!strcmp(how, "leave"))
		return leave_threads(n);
	if (!strcmp(how, "rseq"))
		return with_sequences();
	if (!strcmp(how, "fork"))
		return with_fork();
	if (!strcmp(how, "exit")) {
		if (isolprobe_begin(&probe, 2000))
			return 3;
		tick_for(&probe, (double)ms);
		return 0;
	}
	if (!strcmp(how, "late"))
		for (double end = now_ms() + (double)ms; now_ms() < end;)
			;
	for (; n > 0; n--)
		breaks += tick_once();
	printf("breaks %llu\n", breaks);
	return 0;
}
