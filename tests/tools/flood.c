/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flood RATE SECONDS: arms a timer RATE times a second, or works without any if RATE is 0, and
 * prints how many times, or passes of the work, there were a second.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define PASSES 10000u

static double read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

/* One event each, timer:hrtimer_start, and nothing cheaper is watched. */
static double arm(double rate, double seconds)
{
	const struct itimerspec late = { .it_value.tv_sec = 100000 };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	double start = now();
	uint64_t n = 0;

	while (now() < start + seconds) {
		while (now() < start + (double)n / rate)
			;
		if (timerfd_settime(fd, 0, &late, NULL))
			return 0;
		n++;
	}
	close(fd);
	return (double)n / (now() - start);
}

/* By the time that it had the CPU, interrupts included: what other tasks take is not to count. */
static double work(double seconds)
{
	double start = now(), ran = read_clock(CLOCK_THREAD_CPUTIME_ID);
	volatile uint32_t x = 1;
	uint64_t n = 0;

	for (; now() < start + seconds; n += PASSES)
		for (uint32_t i = 0; i < PASSES; i++)
			x = x * 1664525 + i;
	return (double)n / (read_clock(CLOCK_THREAD_CPUTIME_ID) - ran);
}

int main(int argc, char **argv)
{
	double rate = argc == 3 ? strtod(argv[1], NULL) : -1, seconds;

	if (rate < 0) {
		fprintf(stderr, "usage: flood RATE SECONDS\n");
		return 2;
	}
	seconds = strtod(argv[2], NULL);
	printf("%.0f\n", rate > 0 ? arm(rate, seconds) : work(seconds));
	return 0;
}
