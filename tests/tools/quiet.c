/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * quiet SETTLE SECONDS: spins on the CPU that it was put on, and tells what the kernel did to that
 * CPU and this thread in the last SECONDS: a line "KIND COUNT" for each row of /proc/interrupts
 * that grew, and "switches COUNT" (of both kinds). The window is bounded by the spinner's own
 * clock, which holds when an emulator lets nobody else run; SIGTERM ends it before. It ends with
 * status 3 if it was moved.
 */
#include <err.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct row {
	char kind[16];
	unsigned long count;
};

struct counts {
	struct row rows[512];
	size_t n;
	unsigned long switches;
};

static volatile sig_atomic_t told_to_end;

static void note_signal(int sig)
{
	(void)sig;
	told_to_end = 1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Which column of the table is the CPU's? Only those that are online have one. */
static int column(char *header, int cpu)
{
	int at = 0, number;

	for (char *word = strtok(header, " \n"); word; word = strtok(NULL, " \n"), at++)
		if (sscanf(word, "CPU%d", &number) == 1 && number == cpu)
			return at;
	errx(1, "/proc/interrupts has no column for CPU %d", cpu);
}

static void add_row(struct counts *counts, char *line, int at)
{
	char *colon = strchr(line, ':'), *end = colon ? colon + 1 : line;
	struct row *row = &counts->rows[counts->n];

	if (!colon || counts->n == sizeof(counts->rows) / sizeof(counts->rows[0]))
		return;
	*colon = '\0';
	for (int i = 0; i <= at; i++) {
		char *from = end;

		row->count = strtoul(from, &end, 10);
		if (end == from)
			return; /* a row such as ERR, which is of no CPU */
	}
	snprintf(row->kind, sizeof(row->kind), "%s", line + strspn(line, " "));
	counts->n++;
}

static void take(struct counts *counts, int cpu)
{
	FILE *interrupts = fopen("/proc/interrupts", "re"),
	     *status = fopen("/proc/thread-self/status", "re");
	char *line = NULL;
	unsigned long value;
	size_t room = 0;
	int at;

	if (!interrupts || !status)
		err(1, "cannot read /proc");
	counts->n = 0;
	counts->switches = 0;
	if (getline(&line, &room, interrupts) < 0)
		err(1, "cannot read /proc/interrupts");
	at = column(line, cpu);
	while (getline(&line, &room, interrupts) > 0)
		add_row(counts, line, at);
	while (getline(&line, &room, status) > 0)
		if (sscanf(line, "voluntary_ctxt_switches: %lu", &value) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %lu", &value) == 1)
			counts->switches += value;
	free(line);
	fclose(interrupts);
	fclose(status);
}

static void spin(double seconds)
{
	double until = now() + seconds;

	while (!told_to_end && now() < until)
		;
}

static double seconds_of(const char *text)
{
	char *end;
	double seconds;

	errno = 0;
	seconds = strtod(text, &end);
	if (errno || end == text || *end || !(seconds >= 0) || seconds > 3600)
		errx(2, "\"%s\" is no number of seconds up to 3600", text);
	return seconds;
}

int main(int argc, char **argv)
{
	static struct counts before, after;
	double settle, seconds;
	int cpu;

	if (argc != 3)
		errx(2, "usage: quiet SETTLE SECONDS");
	settle = seconds_of(argv[1]);
	seconds = seconds_of(argv[2]);
	cpu = sched_getcpu();
	signal(SIGTERM, note_signal);
	take(&before, cpu); /* brings in all that the second time needs */
	spin(settle);
	take(&before, cpu);
	spin(seconds);
	take(&after, cpu);
	for (size_t i = 0, j = 0; i < after.n; i++) {
		for (j = 0; j < before.n && strcmp(before.rows[j].kind, after.rows[i].kind); j++)
			;
		if (after.rows[i].count != (j < before.n ? before.rows[j].count : 0))
			printf("%s %lu\n", after.rows[i].kind,
			       after.rows[i].count - (j < before.n ? before.rows[j].count : 0));
	}
	printf("switches %lu\n", after.switches - before.switches);
	return sched_getcpu() == cpu ? 0 : 3;
}
