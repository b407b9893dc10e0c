/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded into chisol by sweep.bats: numbers each call of the chisol process that changes the
 * machine or the state directory, and lets one of them be the last, or fail.
 *
 *	SWEEP_LOG=FILE     "NUMBER CALL PATH" a line, for each call
 *	SWEEP_KILL=N       SIGKILL right after call N; N = 0: before the first
 *	SWEEP_FAIL=N       call N fails with the errno SWEEP_ERRNO (a number) and does nothing
 *	SWEEP_ROUND=FILE   of a number of two digits or more written to FILE the last becomes 0
 *	SWEEP_NOMEM=FILE   once FILE is there, no array grows any more
 *
 * A number is GROUP.MEMBER: the same call on the same path again is the next member of its group.
 * So the groups stay what they are when the number of tasks that are moved changes.
 *
 * Counted are calls in proc, sysfs and cgroup file systems and in /run/chisol, masks set for other
 * processes, and messages to named sockets. The command, and what chisol forks, is left alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define STATE_DIR "/run/chisol"

struct place {
	long group, member;
};

static struct {
	pid_t pid; /* of chisol; 0: not in it */
	int log;
	struct place now, kill_after, fail_at;
	bool kills, fails;
	int error;
	char last[PATH_MAX + 32]; /* call and path */
} sweep = { .log = -1 };

static bool read_place(const char *name, struct place *place)
{
	const char *text = getenv(name);

	return text && sscanf(text, "%ld.%ld", &place->group, &place->member) >= 1;
}

static bool is_at(struct place place)
{
	return sweep.now.group == place.group && sweep.now.member == place.member;
}

__attribute__((constructor)) static void begin(void)
{
	const char *log = getenv("SWEEP_LOG"), *error = getenv("SWEEP_ERRNO");
	int fd;

	if (strcmp(program_invocation_short_name, "chisol") != 0)
		return;
	sweep.kills = read_place("SWEEP_KILL", &sweep.kill_after);
	sweep.fails = read_place("SWEEP_FAIL", &sweep.fail_at) && error &&
	              sscanf(error, "%d", &sweep.error) == 1;
	/* Away from the numbers that chisol would get without us. */
	fd = log ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
	if (fd >= 0) {
		sweep.log = fcntl(fd, F_DUPFD_CLOEXEC, 500);
		close(fd);
	}
	sweep.pid = getpid();
	unsetenv("LD_PRELOAD");
}

/* True: the call is to fail, errno is set. */
static bool before(const char *call, const char *path)
{
	char what[sizeof(sweep.last)], line[sizeof(what) + 64];
	int n;

	if (sweep.kills && !sweep.kill_after.group)
		kill(sweep.pid, SIGKILL);
	snprintf(what, sizeof(what), "%s %s", call, path);
	if (strcmp(what, sweep.last) != 0) {
		strcpy(sweep.last, what);
		sweep.now.group++;
		sweep.now.member = 0;
	}
	sweep.now.member++;
	n = snprintf(line, sizeof(line), "%ld.%ld %s\n", sweep.now.group, sweep.now.member, what);
	if (sweep.log >= 0 && n > 0)
		syscall(SYS_write, sweep.log, line, (size_t)n);
	errno = sweep.error;
	return sweep.fails && is_at(sweep.fail_at);
}

static long after(long result)
{
	int saved = errno;

	if (sweep.kills && is_at(sweep.kill_after))
		kill(sweep.pid, SIGKILL);
	errno = saved;
	return result;
}

/* The path of a descriptor, with a name below it or NULL; false if it is none that counts. */
static bool counts(int fd, const char *name, char path[PATH_MAX])
{
	char link[sizeof("/proc/self/fd/-2147483648")], dir[PATH_MAX / 2];
	struct statfs fs;
	ssize_t n;

	if (sweep.pid != getpid())
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, dir, sizeof(dir) - 1);
	if (n < 0 || fstatfs(fd, &fs))
		return false;
	dir[n] = '\0';
	snprintf(path, PATH_MAX, "%s%s%.*s", dir, name ? "/" : "", PATH_MAX / 2 - 2,
	         name ? name : "");
	return fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC ||
	       fs.f_type == DEBUGFS_MAGIC || fs.f_type == CGROUP_SUPER_MAGIC ||
	       fs.f_type == CGROUP2_SUPER_MAGIC || !strncmp(path, STATE_DIR, strlen(STATE_DIR));
}

/* Makes the system call; between the two marks if it counts. */
#define SWEPT(type, call, counted, path, ...)                          \
	do {                                                           \
		if (!(counted))                                        \
			return (type)syscall(SYS_##call, __VA_ARGS__); \
		if (before(#call, path))                               \
			return -1;                                     \
		return (type)after(syscall(SYS_##call, __VA_ARGS__));  \
	} while (0)

/* As a kernel file that rounds. */
static bool is_rounded(const char *path, const char *bytes, size_t size)
{
	const char *file = getenv("SWEEP_ROUND");

	return file && !strcmp(file, path) && size > 2 && bytes[size - 1] == '\n';
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	char path[PATH_MAX];

	if (counts(fd, NULL, path) && is_rounded(path, bytes, size)) {
		struct iovec pieces[] = { { (void *)bytes, size - 2 }, { (void *)"0\n", 2 } };

		SWEPT(ssize_t, writev, true, path, fd, pieces, 2);
	}
	SWEPT(ssize_t, write, counts(fd, NULL, path), path, fd, bytes, size);
}

int mkdirat(int fd, const char *name, mode_t mode)
{
	char path[PATH_MAX];

	SWEPT(int, mkdirat, counts(fd, name, path), path, fd, name, mode);
}

int unlinkat(int fd, const char *name, int flags)
{
	char path[PATH_MAX];

	SWEPT(int, unlinkat, counts(fd, name, path), path, fd, name, flags);
}

int renameat(int from, const char *old, int to, const char *new)
{
	char path[PATH_MAX];

	SWEPT(int, renameat, counts(from, old, path), path, from, old, to, new);
}

int fsync(int fd)
{
	char path[PATH_MAX];

	SWEPT(int, fsync, counts(fd, NULL, path), path, fd);
}

int ftruncate(int fd, off_t size)
{
	char path[PATH_MAX];

	SWEPT(int, ftruncate, counts(fd, NULL, path), path, fd, size);
}

void *reallocarray(void *array, size_t n, size_t size)
{
	const char *file = sweep.pid == getpid() ? getenv("SWEEP_NOMEM") : NULL;

	if (file && !access(file, F_OK)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(array, n * size); /* chisol asks for no more than there is */
}

int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *mask)
{
	char path[sizeof("/proc/-2147483648")];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	SWEPT(int, sched_setaffinity, sweep.pid == getpid() && pid, path, pid, size, mask);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	struct sockaddr_un peer = { 0 };
	socklen_t size = sizeof(peer);
	bool named = !getpeername(fd, (struct sockaddr *)&peer, &size) &&
	             size > offsetof(struct sockaddr_un, sun_path);

	SWEPT(ssize_t, sendmsg, named && sweep.pid == getpid(), "socket", fd, message, flags);
}

ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
	struct iovec piece = { .iov_base = (void *)bytes, .iov_len = size };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };

	return sendmsg(fd, &message, flags);
}
