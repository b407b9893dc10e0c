/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a tick costs, for the bench: ns per pass, each the best of ROUNDS, as anything else on the
 * machine only adds. Prints "PAIR BARE TICK WORK WORK_TICK": two reads of the counter in a row,
 * a loop of a read and a compare, the same by isolprobe_tick(), and a loop of about 50 ns of work,
 * without and with a tick.
 */
#include <stdio.h>
#include <time.h>

#include "../../probe/isolprobe.h"

#define ROUNDS 300
#define PASSES 10000
#define LEARN  5000

static volatile uint64_t sink;

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void pair(struct isolprobe *probe, int passes)
{
	(void)probe;
	for (int i = 0; i < passes; i++) {
		uint64_t first = isolprobe_counter();

		sink = isolprobe_counter() - first;
	}
}

static void bare(struct isolprobe *probe, int passes)
{
	uint64_t last = isolprobe_counter(), longer = 0;

	(void)probe;
	for (int i = 0; i < passes; i++) {
		uint64_t now = isolprobe_counter();

		longer += now - last > 100000;
		last = now;
	}
	sink = longer;
}

static void tick(struct isolprobe *probe, int passes)
{
	struct isolprobe own = *probe;

	for (int i = 0; i < passes; i++)
		isolprobe_tick(&own);
	*probe = own;
}

/* A hash of a message, in a chain of multiplications. */
static uint64_t work(uint64_t hash)
{
	for (int i = 0; i < 32; i++)
		hash = (hash ^ (uint64_t)i) * 1099511628211u;
	return hash;
}

static void work_only(struct isolprobe *probe, int passes)
{
	uint64_t hash = sink;

	(void)probe;
	for (int i = 0; i < passes; i++)
		hash = work(hash);
	sink = hash;
}

static void work_and_tick(struct isolprobe *probe, int passes)
{
	struct isolprobe own = *probe;
	uint64_t hash = sink;

	for (int i = 0; i < passes; i++) {
		hash = work(hash);
		isolprobe_tick(&own);
	}
	sink = hash;
	*probe = own;
}

/* ns for each pass; the usual one is learnt before. */
static double measure(void (*loop)(struct isolprobe *probe, int passes))
{
	struct isolprobe probe;
	double begin, took;

	if (isolprobe_begin(&probe, 1000000))
		return 1e9;
	loop(&probe, LEARN);
	begin = now_ns();
	loop(&probe, PASSES);
	took = now_ns() - begin;
	isolprobe_free(isolprobe_end(&probe));
	return took / PASSES;
}

int main(void)
{
	static void (*const loops[])(struct isolprobe * probe,
	                             int passes) = { pair, bare, tick, work_only, work_and_tick };
	double best[] = { 1e9, 1e9, 1e9, 1e9, 1e9 };

	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++) {
			double took = measure(loops[i]);

			best[i] = took < best[i] ? took : best[i];
		}
	}
	printf("%.2f %.2f %.2f %.2f %.2f\n", best[0], best[1], best[2], best[3], best[4]);
	return best[2] < 1e9 ? 0 : 1;
}
