/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A format of the kernel's as tracefs would give it, and after a NUL byte a record of that event:
 * whatever they are, nothing beyond the record is read, and a name ends.
 */
#include "../../probe/trace_format.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __lsan_is_turned_off(void);

/* The library leaks where it gives a format up; the unit tests look for leaks of our own. */
int __lsan_is_turned_off(void)
{
	return 1;
}

/* A tracefs in memory that has one event, which is written anew each time. */
struct fake {
	struct sysroot tracefs;
	int fd;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static char dir[] = "/dev/shm/chisol-fuzz-XXXXXX";

static int take_away(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void remove_fake(void)
{
	nftw(dir, take_away, 16, FTW_DEPTH | FTW_PHYS);
}

static struct fake *fake(void)
{
	static struct fake fake = { .tracefs = SYSROOT_INIT, .fd = -1 };

	if (fake.fd >= 0)
		return &fake;
	check(mkdtemp(dir) && !atexit(remove_fake) && !sysroot_open(&fake.tracefs, dir, NULL));
	check(!mkdirat(fake.tracefs.fd, "events", 0700) &&
	      !mkdirat(fake.tracefs.fd, "events/irq", 0700) &&
	      !mkdirat(fake.tracefs.fd, "events/irq/irq_handler_entry", 0700));
	fake.fd = openat(fake.tracefs.fd, "events/irq/irq_handler_entry/format",
	                 O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	check(fake.fd >= 0);
	return &fake;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, 0, size);
	size_t len = end ? (size_t)(end - data) : size, left = end ? size - len - 1 : 0;
	struct trace_formats formats;
	struct trace_event event = { 0 };
	uint8_t *record = malloc(left + !left); /* of this size, so that ASan knows its end */

	check(record && !ftruncate(fake()->fd, 0) &&
	      pwrite(fake()->fd, data, len, 0) == (ssize_t)len);
	if (left)
		memcpy(record, end + 1, left);
	trace_formats_load(&formats, &fake()->tracefs, "none");
	check(formats.n <= 1);
	if (formats.n) {
		trace_format_decode(&formats.list[0], record, left, &event);
		check(strnlen(event.text, TRACE_TEXT) < TRACE_TEXT);
		trace_formats_find(&formats, record, left);
	}
	trace_formats_free(&formats);
	free(record);
	return 0;
}
