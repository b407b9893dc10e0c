/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>

#define FOREIGN_FIFO_MS 60000

static const struct {
	const char *name;
	enum report_format format;
	void (*render)(FILE *out, const struct run_report *report);
} formats[] = {
	{ "text", REPORT_TEXT, report_text },
	{ "json", REPORT_JSON, report_json },
	{ "jsonl", REPORT_JSONL, report_jsonl },
	{ "oslat-json", REPORT_OSLAT_JSON, report_oslat_json },
};

int report_sink_parse(struct report_sink *sink, const char *text, struct error *err)
{
	size_t len = strcspn(text, ":");

	*sink = (struct report_sink){ .fd = -1 };
	if (text[len] && !text[len + 1])
		return error_set(err, EINVAL,
		                 "report '%s': there is no file name after the colon; leave the "
		                 "colon out for standard error",
		                 text);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strlen(formats[i].name) != len || strncmp(formats[i].name, text, len) != 0)
			continue;
		sink->format = formats[i].format;
		sink->path = text[len] ? xstrdup(text + len + 1) : NULL;
		return 0;
	}
	return error_set(err, EINVAL,
	                 "unknown report format '%.*s': it is text, json, jsonl or oslat-json",
	                 (int)len, text);
}

/* The descriptor that a path stands for, or -1: opening it anew would start at offset 0 again. */
static int descriptor_of(const char *path)
{
	static const struct {
		const char *path;
		int fd;
	} names[] = {
		{ "-", STDOUT_FILENO },
		{ "/dev/stdout", STDOUT_FILENO },
		{ "/dev/stderr", STDERR_FILENO },
	};
	static const char *const dirs[] = { "/dev/fd/", "/proc/self/fd/" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i].path, path))
			return names[i].fd;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		size_t len = strlen(dirs[i]);
		const char *digits = path + len;

		if (strncmp(path, dirs[i], len) != 0)
			continue;
		if (*digits && strlen(digits) < 10 && !digits[strspn(digits, "0123456789")])
			return (int)strtol(digits, NULL, 10);
	}
	return -1;
}

/* Then the last component of the path is not to be trusted. */
static bool others_may_write(const struct stat *dir)
{
	return (dir->st_mode & S_IWOTH) || (dir->st_uid != 0 && dir->st_uid != geteuid()) ||
	       (dir->st_mode & S_IWGRP && dir->st_gid != getegid());
}

static int open_file(struct report_sink *sink, struct error *err)
{
	const char *path = sink->path;
	_cleanup_free_ char *dir_copy = xstrdup(path), *base_copy = xstrdup(path);
	_cleanup_close_ int dir_fd = -1;
	_cleanup_close_ int fd = -1;
	struct stat dir, file;
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY;
	const char *base = basename(base_copy);
	bool guarded;

	dir_fd = open(dirname(dir_copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || fstat(dir_fd, &dir) < 0)
		return error_errno(err, errno, "cannot open the directory of report file %s", path);
	guarded = others_may_write(&dir);
	fd = openat(dir_fd, base, flags | O_EXCL, 0666);
	sink->created = fd >= 0;
	/* A FIFO is opened as sh does it: this waits for its reader. */
	if (fd < 0 && errno == EEXIST)
		fd = openat(dir_fd, base, flags | (guarded ? O_NOFOLLOW : 0), 0666);
	if (fd < 0 && errno == ELOOP && guarded)
		return error_set(err, ELOOP,
		                 "report file %s is a symbolic link in a directory that others can "
		                 "write to: refused; name the file that it points to",
		                 path);
	if (fd < 0)
		return error_errno(err, errno, "cannot open report file %s", path);
	if (fstat(fd, &file) < 0)
		return error_errno(err, errno, "cannot examine report file %s", path);
	if (guarded && ((file.st_uid != geteuid() && file.st_uid != dir.st_uid) ||
	                (S_ISREG(file.st_mode) && file.st_nlink != 1)))
		return error_set(
			err, EACCES,
			"report file %s belongs to another user or has a second name, in a "
			"directory that others can write to: refused; choose another "
			"directory or remove the file",
			path);
	if (S_ISREG(file.st_mode) && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return error_set(err, EBUSY, "another report is about to be written to %s", path);
	if (guarded && S_ISFIFO(file.st_mode))
		sink->patience = FOREIGN_FIFO_MS;
	return take_fd(&fd);
}

static const char *name_of(const struct report_sink *sink)
{
	return sink->path ? sink->path : "standard error";
}

int report_sink_open(struct report_sink *sink, struct error *err)
{
	int twin = sink->path ? descriptor_of(sink->path) : STDERR_FILENO;

	if (twin >= 0) {
		int flags = fcntl(twin, F_GETFL);

		if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
			return error_set(err, EBADF, "report: %s is not open for writing",
			                 name_of(sink));
		sink->fd = fcntl(twin, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (sink->fd < 0)
			return error_errno(err, errno, "cannot write a report to %s",
			                   name_of(sink));
		return 0;
	}
	sink->fd = open_file(sink, err);
	return sink->fd < 0 ? sink->fd : 0;
}

/* What of the text can be written now; with patience, ETIMEDOUT is told by errno after so many ms
 * in which nothing could. What poll(2) lets pass does not block: a pipe then takes PIPE_BUF. */
static ssize_t write_some(int fd, const char *text, size_t left, int patience)
{
	struct pollfd out = { .fd = fd, .events = POLLOUT };

	if (patience < 0)
		return write(fd, text, left);
	if (poll(&out, 1, patience) == 0) {
		errno = ETIMEDOUT;
		return -1;
	}
	return write(fd, text, left < PIPE_BUF ? left : PIPE_BUF);
}

/* 0 or errno. A reader that has gone is EPIPE here, not a signal to die of. */
static int write_all(int fd, const char *text, size_t left, int patience)
{
	const struct timespec now = { 0 };
	sigset_t pipe_only, before;
	int rc = 0;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigprocmask(SIG_BLOCK, &pipe_only, &before);
	while (left && !rc) {
		ssize_t n = write_some(fd, text, left, patience);

		if (n >= 0) {
			text += n;
			left -= (size_t)n;
		} else if (errno == EAGAIN) {
			/* a terminal or pipe that somebody else made non-blocking */
			poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
		} else if (errno != EINTR) {
			rc = errno;
		}
	}
	if (rc == EPIPE && !sigismember(&before, SIGPIPE))
		sigtimedwait(&pipe_only, NULL, &now);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int report_sink_empty(const struct report_sink *sink, struct error *err)
{
	struct stat st;

	/* A duplicated descriptor stands where its owner left it. */
	if (sink->path && descriptor_of(sink->path) < 0 && !fstat(sink->fd, &st) &&
	    S_ISREG(st.st_mode) && ftruncate(sink->fd, 0) < 0)
		return error_errno(err, errno, "cannot empty report file %s", sink->path);
	return 0;
}

int report_sink_add(const struct report_sink *sink, const char *text, size_t len, int patience,
                    struct error *err)
{
	int rc = write_all(sink->fd, text, len, patience);

	if (rc == ETIMEDOUT)
		return error_set(err, rc, "nobody has read from %s for %d ms", name_of(sink),
		                 patience);
	if (rc)
		return error_errno(err, rc, "cannot write the report to %s", name_of(sink));
	return 0;
}

int report_write(const struct report_sink *sink, const struct run_report *report, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int rc;

	if (!out)
		return error_errno(err, errno, "cannot make the report for %s", name_of(sink));
	formats[sink->format].render(out, report);
	if (fclose(out) == EOF)
		return error_errno(err, errno, "cannot make the report for %s", name_of(sink));
	/* The old report goes only now that there is a new one. */
	rc = sink->format == REPORT_JSONL ? 0 : report_sink_empty(sink, err);
	if (rc)
		return rc;
	return report_sink_add(sink, text, len, sink->patience ? sink->patience : -1, err);
}

void report_sink_close(struct report_sink *sink)
{
	struct stat file;

	if (sink->fd >= 0) {
		/* A launch that is refused leaves nothing behind. */
		if (sink->created && !fstat(sink->fd, &file) && file.st_size == 0)
			unlink(sink->path);
		close(sink->fd);
	}
	free(sink->path);
	*sink = (struct report_sink){ .fd = -1 };
}
