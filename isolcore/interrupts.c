/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "interrupts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define INTERRUPTS "/proc/interrupts"
#define SOFTIRQS   "/proc/softirqs"

/* One file while it is read, line by line: with thousands of CPUs it is hundreds of megabytes. */
struct reader {
	const char *path;
	FILE *file;
	char *line;
	size_t room, n_bytes;
	long *slots; /* of each column: the index of its CPU in the table's counts, or -1 */
	size_t n_slots, slots_room;
};

static void reader_free(struct reader *reader)
{
	if (reader->file)
		fclose(reader->file);
	free(reader->line);
	free(reader->slots);
}
#define _cleanup_reader_ _cleanup_(reader_free)

static void row_free(struct interrupt_row *row)
{
	free(row->id);
	free(row->name);
	free(row->counts);
}

void interrupts_free(struct interrupt_table *table)
{
	for (size_t i = 0; i < table->n_rows; i++)
		row_free(&table->rows[i]);
	free(table->rows);
	free(table->unavailable);
	cpumask_free(&table->cpus);
	*table = (struct interrupt_table)INTERRUPT_TABLE_INIT;
}

/* 1: a line, 0: the end, or -errno. */
static int next_line(struct reader *reader, struct error *err)
{
	ssize_t len;

	errno = 0;
	len = getline(&reader->line, &reader->room, reader->file);
	if (len < 0)
		return ferror(reader->file)
		               ? error_errno(err, errno, "cannot read %s", reader->path)
		               : 0;
	reader->n_bytes += (size_t)len;
	if (reader->n_bytes > SYSROOT_BIG)
		return error_set(err, EFBIG, "cannot read %s: it is larger than %u bytes",
		                 reader->path, SYSROOT_BIG);
	if (strlen(reader->line) != (size_t)len)
		return error_set(err, EINVAL, "cannot read %s: it contains a NUL byte",
		                 reader->path);
	reader->line[strcspn(reader->line, "\n")] = '\0';
	return 1;
}

static const char *skip_blanks(const char *p)
{
	return p + strspn(p, " \t");
}

/* A decimal number that a blank or the end follows. A counter that overflows sticks at the top. */
static bool parse_count(const char **p, unsigned long long *count)
{
	const char *text = skip_blanks(*p);
	size_t len = strspn(text, "0123456789");

	if (!len || (text[len] && text[len] != ' ' && text[len] != '\t'))
		return false;
	*count = strtoull(text, NULL, 10);
	*p = text + len;
	return true;
}

/* The CPUs of the columns, "CPU0 CPU1 CPU4": a CPU that is offline has none. */
static int parse_header(struct reader *reader, struct cpumask *columns, struct error *err)
{
	const char *p = skip_blanks(reader->line);

	while (*p) {
		unsigned long long cpu;

		if (strncmp(p, "CPU", 3) || p[3] < '0' || p[3] > '9')
			break;
		p += 3;
		if (!parse_count(&p, &cpu) || cpu > CPUMASK_MAX)
			break;
		reader->slots = xgrow(reader->slots, reader->n_slots + 1, &reader->slots_room,
		                      sizeof(*reader->slots));
		reader->slots[reader->n_slots++] = (long)cpu;
		cpumask_set(columns, (unsigned int)cpu);
		p = skip_blanks(p);
		if (!*p)
			return 0;
	}
	return error_set(err, EINVAL, "cannot read %s: its first line is not a list of CPUs",
	                 reader->path);
}

/* Fills reader->slots. The first file that is read decides which CPUs the table has. */
static int read_header(struct reader *reader, struct interrupt_table *table,
                       const struct cpumask *asked, struct error *err)
{
	_cleanup_cpumask_ struct cpumask columns = CPUMASK_INIT;
	_cleanup_free_ long *ranks = NULL;
	long rank = 0;
	int rc = parse_header(reader, &columns, err);

	if (rc)
		return rc;
	if (cpumask_empty(&table->cpus)) {
		cpumask_copy(&table->cpus, asked);
		cpumask_and(&table->cpus, &columns);
	}
	ranks = xcalloc((size_t)cpumask_last(&columns) + 1, sizeof(*ranks));
	cpumask_for_each (cpu, &table->cpus)
		if (cpumask_test(&columns, (unsigned int)cpu))
			ranks[cpu] = ++rank;
		else
			rank++;
	for (size_t i = 0; i < reader->n_slots; i++)
		reader->slots[i] = ranks[reader->slots[i]] - 1;
	return 0;
}

/* How the part about the chip ends: "2-edge", "27 Level". */
static bool is_chip(const char *text)
{
	static const char *const ends[] = { "-edge", "-fasteoi", "-level", " Edge", " Level", "" };
	size_t digits = strspn(text, "0123456789");

	for (size_t i = 0; digits && i < ARRAY_SIZE(ends); i++)
		if (!strcmp(text + digits, ends[i]))
			return true;
	return false;
}

/*
 * The names of the devices at the end of "PCI-MSI 524288-edge      eth0-rx-0": they come after two
 * blanks (kernel/irq/proc.c). Without a device the line ends with the chip.
 */
static const char *device_name(const char *rest)
{
	const char *name = rest;

	for (const char *p = rest; (p = strstr(p, "  ")); name = p)
		p = skip_blanks(p);
	return name == rest || is_chip(name) ? "" : name;
}

static bool has_counts(const struct interrupt_row *row, size_t n_cpus)
{
	for (size_t i = 0; i < n_cpus; i++)
		if (row->counts[i])
			return true;
	return false;
}

/* Rows such as ERR and MIS have one number for the whole machine, which is nobody's. */
static void parse_row(struct interrupt_table *table, const struct reader *reader,
                      enum interrupt_kind kind)
{
	const char *id = skip_blanks(reader->line), *colon = strchr(id, ':'), *p;
	size_t n_cpus = cpumask_weight(&table->cpus), len;
	struct interrupt_row row;

	if (!colon || colon == id)
		return;
	row = (struct interrupt_row){
		.kind = kind,
		.id = xstrndup(id, (size_t)(colon - id)),
		.counts = xcalloc(n_cpus, sizeof(*row.counts)),
	};
	if (kind == INTERRUPT_ARCH && !row.id[strspn(row.id, "0123456789")])
		row.kind = INTERRUPT_DEVICE;
	p = colon + 1;
	for (size_t i = 0; i < reader->n_slots; i++) {
		unsigned long long count;

		if (!parse_count(&p, &count)) {
			row_free(&row);
			return;
		}
		if (reader->slots[i] >= 0)
			row.counts[reader->slots[i]] = count;
	}
	if (!has_counts(&row, n_cpus)) {
		row_free(&row);
		return;
	}
	p = skip_blanks(p);
	len = strlen(p);
	while (len && (p[len - 1] == ' ' || p[len - 1] == '\t'))
		len--;
	row.name = xstrndup(p, len);
	if (row.kind == INTERRUPT_DEVICE)
		memmove(row.name, device_name(row.name), strlen(device_name(row.name)) + 1);
	table->rows = xgrow(table->rows, table->n_rows + 1, &table->room, sizeof(*table->rows));
	table->rows[table->n_rows++] = row;
}

static void note_unavailable(struct interrupt_table *table, const char *sentence)
{
	xappend(&table->unavailable, "%s%s", table->unavailable ? "; " : "", sentence);
}

static int read_file(struct interrupt_table *table, const struct system *sys, const char *path,
                     const struct cpumask *asked, enum interrupt_kind kind, struct error *err)
{
	_cleanup_reader_ struct reader reader = { .path = path };
	_cleanup_error_ struct error error = ERROR_INIT;
	_cleanup_close_ int fd =
		sysroot_openat(&sys->root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, &error);
	struct stat st;
	int rc;

	if (fd < 0) {
		note_unavailable(table, error.text);
		return 0;
	}
	/* A file of /proc has no size; a recorded one must not grow a line without end. */
	if (!fstat(fd, &st) && st.st_size > (off_t)SYSROOT_BIG)
		return error_set(err, EFBIG, "cannot read %s: it is larger than %u bytes", path,
		                 SYSROOT_BIG);
	reader.file = fdopen(fd, "r");
	if (!reader.file)
		return error_errno(err, errno, "cannot read %s", path);
	take_fd(&fd);
	rc = next_line(&reader, &error);
	if (rc == 0)
		error_set(&error, ENODATA, "%s is empty; in a container it is often masked", path);
	if (rc <= 0) {
		note_unavailable(table, error.text);
		return 0;
	}
	rc = read_header(&reader, table, asked, err);
	if (rc)
		return rc;
	while ((rc = next_line(&reader, err)) > 0)
		parse_row(table, &reader, kind);
	return rc;
}

int interrupts_read(struct interrupt_table *table, const struct system *sys,
                    const struct cpumask *cpus, struct error *err)
{
	int rc = read_file(table, sys, INTERRUPTS, cpus, INTERRUPT_ARCH, err);

	return rc ? rc : read_file(table, sys, SOFTIRQS, cpus, INTERRUPT_SOFTIRQ, err);
}

/* Both tables have their rows in the same order, but for a few: the search begins where the last
 * one ended. */
static const struct interrupt_row *find_row(const struct interrupt_table *table,
                                            const struct interrupt_row *row, size_t *from)
{
	for (size_t i = 0; i < table->n_rows; i++) {
		size_t at = (*from + i) % table->n_rows;
		const struct interrupt_row *candidate = &table->rows[at];

		if (candidate->kind == row->kind && !strcmp(candidate->id, row->id) &&
		    !strcmp(candidate->name, row->name)) {
			*from = at + 1;
			return candidate;
		}
	}
	return NULL;
}

/* For each CPU of a, in order: the index of its counts in b, or -1. CPUs come and go. */
static long *map_slots(const struct cpumask *a, const struct cpumask *b)
{
	long *slots = xcalloc(cpumask_weight(a), sizeof(*slots));
	long in_b = 0, other = cpumask_next(b, 0);
	size_t in_a = 0;

	cpumask_for_each (cpu, a) {
		for (; other >= 0 && other < cpu; in_b++)
			other = cpumask_next(b, other + 1);
		slots[in_a++] = other == cpu ? in_b : -1;
	}
	return slots;
}

void interrupts_subtract(struct interrupt_table *after, const struct interrupt_table *before)
{
	_cleanup_free_ long *slots = map_slots(&after->cpus, &before->cpus);
	size_t n_cpus = cpumask_weight(&after->cpus), kept = 0, from = 0;

	for (size_t i = 0; i < after->n_rows; i++) {
		struct interrupt_row *row = &after->rows[i];
		const struct interrupt_row *old = find_row(before, row, &from);

		for (size_t k = 0; old && k < n_cpus; k++)
			if (slots[k] >= 0 && row->counts[k] >= old->counts[slots[k]])
				row->counts[k] -= old->counts[slots[k]];
		if (has_counts(row, n_cpus))
			after->rows[kept++] = *row;
		else
			row_free(row);
	}
	after->n_rows = kept;
}
