/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * observe CPU PID SECONDS: counts, in the kernel and independently of chisol, what one process does
 * to a CPU meanwhile: interrupts and functions that it sends there, and its own turns on it. Prints
 * "sent N" and "ran N". Events are counted, not sampled; tracefs has to be mounted at the place
 * that TRACEFS names.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_FDS 4096

static int fds[MAX_FDS];
static int n_fds;

static void __attribute__((noreturn)) die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t event_id(const char *name)
{
	char path[512];
	unsigned long long id = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/events/%s/id", getenv("TRACEFS"), name);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%20llu", &id) != 1)
		die(path);
	fclose(f);
	return id;
}

static void count(const char *name, int on, const char *filter)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT,
		                        .size = sizeof(attr),
		                        .config = event_id(name) };
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, on, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
		die(name);
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	if (n_fds == MAX_FDS)
		exit(1);
	fds[n_fds++] = fd;
}

static uint64_t sum_since(int first)
{
	uint64_t sum = 0, value;

	while (n_fds > first) {
		int fd = fds[--n_fds];

		if (read(fd, &value, sizeof(value)) != sizeof(value))
			die("read");
		sum += value;
		close(fd);
	}
	return sum;
}

int main(int argc, char **argv)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	char sent[128], ran[128];
	uint64_t n_ran;

	if (argc != 4 || !getenv("TRACEFS")) {
		fprintf(stderr, "usage: TRACEFS=DIR observe CPU PID SECONDS\n");
		return 2;
	}
	snprintf(sent, sizeof(sent), "cpu == %s && common_pid == %s && !(common_flags & 24)",
	         argv[1], argv[2]); /* nor in interrupts that it is interrupted by */
	snprintf(ran, sizeof(ran), "next_pid == %s", argv[2]);
	for (int on = 0; on < n_cpus; on++) {
		count("ipi/ipi_send_cpu", on, sent);
		count("csd/csd_queue_cpu", on, sent);
	}
	count("sched/sched_switch", (int)strtol(argv[1], NULL, 10), ran);
	sleep((unsigned int)strtoul(argv[3], NULL, 10));
	n_ran = sum_since(n_fds - 1);
	printf("sent %llu\nran %llu\n", (unsigned long long)sum_since(0),
	       (unsigned long long)n_ran);
	return 0;
}
