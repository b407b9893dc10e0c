/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walltime ROUNDS COMMAND... [--- COMMAND...]...: runs the commands in turn, ROUNDS times each, so
 * that a busy minute of the machine hits all alike, and prints a line for each:
 *
 *	median_us p10_us p90_us maxrss_kib
 *
 * Standard output and error of the commands go to /dev/null. A command that does not exit with 0
 * ends it all.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

struct command {
	char **argv;
	double *us;
	long maxrss_kib;
};

static void die(const char *what, int err)
{
	fprintf(stderr, "walltime: %s: %s\n", what, strerror(err));
	exit(1);
}

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static double run_once(struct command *c, const posix_spawn_file_actions_t *quiet)
{
	double began = now_us(), ended;
	struct rusage usage;
	int status, rc;
	pid_t pid;

	rc = posix_spawnp(&pid, c->argv[0], quiet, NULL, c->argv, environ);
	if (rc)
		die(c->argv[0], rc);
	while (wait4(pid, &status, 0, &usage) < 0)
		if (errno != EINTR)
			die("wait4", errno);
	ended = now_us();
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "walltime: %s ended with wait status 0x%x\n", c->argv[0], status);
		exit(1);
	}
	if (usage.ru_maxrss > c->maxrss_kib)
		c->maxrss_kib = usage.ru_maxrss;
	return ended - began;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	posix_spawn_file_actions_t quiet;
	struct command *commands;
	size_t n = 0, rounds;
	char *end;

	rounds = argc > 2 ? strtoul(argv[1], &end, 10) : 0;
	if (!rounds || rounds > 1000000 || *end) {
		fputs("usage: walltime ROUNDS COMMAND... [--- COMMAND...]...\n", stderr);
		return 1;
	}
	commands = calloc((size_t)argc, sizeof(*commands));
	if (!commands)
		die("calloc", ENOMEM);
	commands[n++].argv = &argv[2];
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "---") != 0)
			continue;
		argv[i] = NULL;
		commands[n++].argv = &argv[i + 1];
	}
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	for (size_t c = 0; c < n; c++) {
		commands[c].us = calloc(rounds, sizeof(double));
		if (!commands[c].us || !commands[c].argv[0])
			die("no command, or no memory", EINVAL);
		run_once(&commands[c], &quiet); /* warms the caches, and is not counted */
	}
	for (size_t r = 0; r < rounds; r++)
		for (size_t c = 0; c < n; c++)
			commands[c].us[r] = run_once(&commands[c], &quiet);
	for (size_t c = 0; c < n; c++) {
		qsort(commands[c].us, rounds, sizeof(double), ascending);
		printf("%.1f %.1f %.1f %ld\n", commands[c].us[rounds / 2],
		       commands[c].us[rounds / 10], commands[c].us[rounds * 9 / 10],
		       commands[c].maxrss_kib);
		free(commands[c].us);
	}
	posix_spawn_file_actions_destroy(&quiet);
	free(commands);
	return 0;
}
