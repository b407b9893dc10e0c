/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "follow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILE_ROOM 4096 /* each of the files that are read fits */
#define ROOM_LEFT (RECORD_THREADS / 4)
#define N_RUNNING 256 /* ready to run at the same time, among which those on one CPU are found */

/* One look. */
struct look {
	uint64_t now;
	struct record_thread *running[N_RUNNING]; /* on the workload's CPUs, ready to run */
	uint32_t n_running;
};

/* What /proc tells of a thread. */
struct seen {
	char name[RECORD_NAME];
	char state;
	uint32_t cpu;
	uint64_t start;
	bool has_migrations;
	struct record_counts counts;
};

int follow_open(struct follow *follow)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)follow->pid);
	follow->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return follow->dir < 0 ? -errno : 0;
}

void follow_close(struct follow *follow)
{
	if (follow->dir >= 0)
		close(follow->dir);
	follow->dir = -1;
}

static ssize_t read_file(const struct follow *follow, uint32_t tid, const char *name, char *text)
{
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%u/%s", tid, name);
	fd = openat(follow->dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, FILE_ROOM - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n < 0 ? -ESRCH : n;
}

static uint64_t read_number(const char *text)
{
	uint64_t value = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (uint64_t)(*text - '0');
	return value;
}

/* The word with this number, counted from 0; words are separated by single blanks. */
static const char *word_at(const char *text, int number)
{
	for (; number && text; number--) {
		text = strchr(text, ' ');
		text += text ? 1 : 0;
	}
	return text ? text : "";
}

/* The number behind a label at the begin of a line: "label   :   17". */
static bool find_number(const char *text, const char *label, uint64_t *value)
{
	size_t len = strlen(label);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, label, len) != 0)
			continue;
		line += len + strspn(line + len, " \t:");
		*value = read_number(line);
		return *line >= '0' && *line <= '9';
	}
	return false;
}

/* "TID (NAME) STATE ...", fields as numbered in proc_pid_stat(5). */
static bool read_stat(struct seen *seen, const char *text)
{
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	size_t len;

	if (!name || !end || end < name || end[1] != ' ')
		return false;
	len = (size_t)(end - name - 1);
	if (len >= sizeof(seen->name))
		len = sizeof(seen->name) - 1;
	memcpy(seen->name, name + 1, len);
	end += 2; /* field 3 */
	seen->state = *end;
	seen->counts.minor = read_number(word_at(end, 10 - 3));
	seen->counts.major = read_number(word_at(end, 12 - 3));
	seen->start = read_number(word_at(end, 22 - 3));
	seen->cpu = (uint32_t)read_number(word_at(end, 39 - 3));
	return true;
}

/* /proc/PID/sched has all of it, where the kernel has that (CONFIG_SCHED_DEBUG). */
static void read_switches(struct seen *seen, const struct follow *follow, uint32_t tid, char *text)
{
	if (read_file(follow, tid, "sched", text) > 0 &&
	    find_number(text, "nr_involuntary_switches", &seen->counts.involuntary) &&
	    find_number(text, "nr_voluntary_switches", &seen->counts.voluntary)) {
		seen->has_migrations =
			find_number(text, "se.nr_migrations", &seen->counts.migrations);
		return;
	}
	if (read_file(follow, tid, "status", text) <= 0)
		return;
	find_number(text, "nonvoluntary_ctxt_switches", &seen->counts.involuntary);
	find_number(text, "voluntary_ctxt_switches", &seen->counts.voluntary);
}

static int see(struct seen *seen, const struct follow *follow, uint32_t tid)
{
	char text[FILE_ROOM];
	ssize_t n = read_file(follow, tid, "stat", text);

	memset(seen, 0, sizeof(*seen));
	if (n < 0)
		return (int)n;
	if (!read_stat(seen, text))
		return -EBADMSG;
	if (read_file(follow, tid, "schedstat", text) > 0)
		seen->counts.run_delay_ns = read_number(word_at(text, 1));
	read_switches(seen, follow, tid, text);
	return 0;
}

static void combine(struct record_counts *base, const struct record_counts *other, bool add)
{
	uint64_t *to = (uint64_t *)base;
	const uint64_t *from = (const uint64_t *)other;

	for (size_t i = 0; i < sizeof(*base) / sizeof(*to); i++)
		to[i] = add ? to[i] + from[i] : to[i] > from[i] ? to[i] - from[i] : 0;
}

void follow_add(struct record_counts *base, const struct record_counts *more)
{
	combine(base, more, true);
}

void follow_subtract(struct record_counts *base, const struct record_counts *less)
{
	combine(base, less, false);
}

/* The place of the one that has not ended, before that of one that has. */
static struct record_thread *find_place(struct record_thread *threads, uint32_t tid, uint64_t start)
{
	struct record_thread *ended = NULL;

	for (struct record_thread *t = threads; t < threads + RECORD_THREADS; t++) {
		if (__atomic_load_n(&t->tid, __ATOMIC_ACQUIRE) != tid)
			continue;
		if (!(__atomic_load_n(&t->flags, __ATOMIC_RELAXED) & RECORD_ENDED))
			return t;
		if (start && (!t->start || t->start == start))
			ended = t;
	}
	return ended;
}

struct record_thread *follow_claim(struct record_thread *threads, uint32_t tid, uint64_t start)
{
	struct record_thread *end = threads + RECORD_THREADS, *place;

	place = find_place(threads, tid, start);
	if (place)
		return place;
	for (struct record_thread *t = threads; t < end; t++) {
		uint32_t nobody = 0;

		if (!t->tid && __atomic_compare_exchange_n(&t->tid, &nobody, tid, false,
		                                           __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return t;
	}
	return NULL;
}

/* What an entry counted goes to the sum of those that are given up; the claim stays. */
static void fold(struct follow *follow, struct record_thread *t)
{
	struct record_counts counts = t->now;
	struct record_folded *folded = follow->folded;

	follow_subtract(&counts, &t->base);
	folded->n++;
	follow_add(&folded->counts, &counts);
	if (t->flags & RECORD_HOT) {
		folded->n_hot++;
		follow_add(&folded->hot_counts, &counts);
	}
	memset((char *)t + sizeof(t->tid), 0, sizeof(*t) - sizeof(t->tid));
}

static void make_room(struct follow *follow)
{
	uint32_t n_free = 0;

	for (size_t i = 0; i < RECORD_THREADS; i++)
		n_free += !follow->threads[i].tid;
	/* First those that were never on the workload's CPUs. */
	for (uint32_t hot = 0; hot <= 1; hot++) {
		for (size_t i = 0; i < RECORD_THREADS && n_free < ROOM_LEFT; i++) {
			struct record_thread *t = &follow->threads[i];

			if (!t->tid || !(t->flags & RECORD_ENDED) || t->flags & RECORD_MAIN ||
			    (t->flags & RECORD_HOT) != hot * RECORD_HOT)
				continue;
			fold(follow, t);
			__atomic_store_n(&t->tid, 0, __ATOMIC_RELEASE);
			n_free++;
		}
	}
}

static bool on_workload(const struct follow *follow, uint32_t cpu)
{
	return record_cpus_test(follow->workload, cpu);
}

static void note_place(struct follow *follow, struct look *look, struct record_thread *t,
                       const struct seen *seen)
{
	if (t->n_looks && t->cpu != seen->cpu && !seen->has_migrations)
		t->now.migrations++;
	t->cpu = seen->cpu;
	if (seen->has_migrations)
		record_flag(t, RECORD_MIGRATIONS);
	if (t->flags & RECORD_PROBE || !on_workload(follow, seen->cpu))
		return;
	follow->n_hot++;
	t->n_hot++;
	t->hot_cpu = seen->cpu;
	record_flag(t, RECORD_HOT);
	if (seen->state == 'R' && look->n_running < N_RUNNING)
		look->running[look->n_running++] = t;
}

static void note_counts(struct follow *follow, const struct look *look, struct record_thread *t,
                        const struct seen *seen)
{
	uint64_t migrations = t->now.migrations;

	t->now = seen->counts;
	if (!seen->has_migrations)
		t->now.migrations = migrations;
	if (look->now < follow->count_from || (!t->n_looks && t->flags & RECORD_MAIN))
		t->base = t->now;
}

static void look_at(struct follow *follow, struct look *look, uint32_t tid)
{
	struct record_thread *t;
	struct seen seen;
	int rc = see(&seen, follow, tid);

	if (rc) {
		follow->n_alive += rc != -ENOENT && rc != -ESRCH;
		return;
	}
	/* The main thread of a program that goes on without it stays as a zombie. */
	if (tid != (uint32_t)follow->self && seen.state != 'Z' && seen.state != 'X')
		follow->n_alive++;
	t = follow_claim(follow->threads, tid, seen.start);
	if (!t) {
		follow->n_omitted++;
		return;
	}
	/* The number of one that has ended was used again, and nobody has noticed its end. The new
	 * one may hold the place already, so it stays where it is. */
	if (t->start && t->start != seen.start && !(t->flags & RECORD_MAIN))
		fold(follow, t);
	if (tid == (uint32_t)follow->pid)
		record_flag(t, RECORD_MAIN);
	if (tid == (uint32_t)follow->self)
		record_flag(t, RECORD_PROBE);
	if (t->flags & RECORD_ENDED) /* it wrote its last counts itself */
		return;
	t->start = seen.start;
	memcpy(t->name, seen.name, sizeof(t->name));
	if (!t->first_ns)
		t->first_ns = look->now;
	t->last_ns = look->now;
	note_place(follow, look, t, &seen);
	note_counts(follow, look, t, &seen);
	t->n_looks++;
	if (seen.state == 'Z' || seen.state == 'X')
		record_flag(t, RECORD_ENDED);
}

static void note_stacked(const struct look *look)
{
	for (uint32_t i = 0; i < look->n_running; i++) {
		for (uint32_t j = 0; j < look->n_running; j++) {
			if (i == j || look->running[i]->cpu != look->running[j]->cpu)
				continue;
			look->running[i]->n_stacked++;
			break;
		}
	}
}

/* A listing ends early where a thread of it ends meanwhile. */
static bool is_there(const struct follow *follow, uint32_t tid)
{
	char path[16];

	snprintf(path, sizeof(path), "%u", tid);
	return !faccessat(follow->dir, path, F_OK, 0);
}

/* Those that were not listed any more. One that has a place but was never listed began just now. */
static void note_ended(const struct follow *follow, const struct look *look)
{
	for (size_t i = 0; i < RECORD_THREADS; i++) {
		struct record_thread *t = &follow->threads[i];

		if (t->tid && t->n_looks && t->last_ns != look->now && !(t->flags & RECORD_ENDED) &&
		    !is_there(follow, t->tid))
			record_flag(t, RECORD_ENDED);
	}
}

int follow_look(struct follow *follow, uint64_t now)
{
	char entries[FILE_ROOM] __attribute__((aligned(__alignof__(struct dirent64))));
	struct look look = { .now = now };
	long n;

	if (lseek(follow->dir, 0, SEEK_SET) < 0)
		return -errno;
	follow->n_alive = follow->n_hot = 0;
	make_room(follow);
	while ((n = syscall(SYS_getdents64, follow->dir, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			if (entry->d_name[0] != '.')
				look_at(follow, &look, (uint32_t)read_number(entry->d_name));
			at += entry->d_reclen;
		}
	}
	if (n < 0)
		return -errno;
	note_stacked(&look);
	note_ended(follow, &look);
	return 0;
}
