/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * twothreads FILE: a process whose second thread puts itself into another group by writing its
 * number to FILE (tasks or cgroup.threads), asks for all CPUs, and tells which CPUs both threads
 * have: "main LIST" and "second LIST".
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_cpus(const char *name, pid_t tid)
{
	static const char key[] = "Cpus_allowed_list:";
	char path[64], line[4096];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)tid);
	f = fopen(path, "re");
	if (!f)
		exit(1);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			printf("%s %s", name, line + strlen(key) + 1);
	fclose(f);
}

static void *second(void *file)
{
	cpu_set_t all;
	FILE *f = fopen(file, "we");

	if (!f || fprintf(f, "%d\n", (int)gettid()) < 0 || fclose(f)) {
		perror(file);
		exit(1);
	}
	memset(&all, 0xff, sizeof(all));
	if (sched_setaffinity(0, sizeof(all), &all)) {
		perror("sched_setaffinity");
		exit(1);
	}
	print_cpus("second", gettid());
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 2 || pthread_create(&thread, NULL, second, argv[1]))
		return 1;
	pthread_join(thread, NULL);
	print_cpus("main", getpid());
	return 0;
}
