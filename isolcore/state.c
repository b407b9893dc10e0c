/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define PATIENCE_MS 2000 /* before it is told that the lock is waited for */
#define STEP_MS     5

char *state_dir(const struct sysroot *root)
{
	return xasprintf("%s/chisol", root->run_dir);
}

static int open_dir(const struct sysroot *root, const char *path, struct error *err)
{
	_cleanup_close_ int fd =
		sysroot_openat(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, err);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return error_errno(err, errno, "cannot look at %s", path);
	if ((st.st_uid && st.st_uid != geteuid()) || st.st_mode & (S_IWGRP | S_IWOTH))
		return error_set(err, EPERM,
		                 "cannot trust %s: it belongs to user %u and has mode %04o; nobody "
		                 "but root may be able to write there",
		                 path, st.st_uid, st.st_mode & 07777);
	return take_fd(&fd);
}

int state_open(const struct sysroot *root, struct error *err)
{
	_cleanup_free_ char *path = state_dir(root);

	return open_dir(root, path, err);
}

int state_open_roots(const struct sysroot *root, struct error *err)
{
	return open_dir(root, STATE_DIR, err);
}

int state_note(const struct sysroot *root, const char *name, mode_t mode, const char *what,
               const char *text, struct error *err)
{
	_cleanup_free_ char *temporary = xasprintf("%s.tmp", name), *path = state_dir(root);
	_cleanup_close_ int dir = state_open(root, err);
	_cleanup_close_ int fd = -1;

	if (dir < 0)
		return dir;
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0 || fchmod(fd, mode) || dprintf(fd, "%s", text) < 0 ||
	    renameat(dir, temporary, dir, name))
		return error_errno(err, errno, "cannot note in %s/%s %s", path, name, what);
	return 0;
}

/* Who has the lock of the file, proc_locks(5). */
static pid_t find_holder(const struct sysroot *root, int fd)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long inode;
	struct stat st;
	pid_t pid;

	if (fstat(fd, &st) || sysroot_read_limit(root, "/proc/locks", SYSROOT_BIG, &text, NULL))
		return 0;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "%*u: FLOCK ADVISORY WRITE %9d %*x:%*x:%19llu", &pid, &inode) ==
		            2 &&
		    inode == st.st_ino)
			return pid;
	}
	return 0;
}

static int wait_for_lock(const struct sysroot *root, int fd, const char *path,
                         state_waiting_fn *waiting)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };

	for (unsigned int ms = 0; waiting && ms < PATIENCE_MS; ms += STEP_MS) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		nanosleep(&step, NULL);
	}
	if (waiting)
		waiting(path, find_holder(root, fd));
	while (flock(fd, LOCK_EX))
		if (errno != EINTR)
			return -errno;
	return 0;
}

int state_lock(const struct sysroot *root, state_waiting_fn *waiting, int *lock_fd,
               struct error *err)
{
	_cleanup_free_ char *path = state_dir(root);
	_cleanup_close_ int dir = -1, fd = -1;
	int rc = 0;

	if (!sysroot_exists(root, path))
		rc = sysroot_mkdir(root, path, 0755, err);
	if (rc && rc != -EEXIST)
		goto refused;
	dir = state_open(root, err);
	if (dir < 0)
		return dir;
	/* Nobody else may open it: whoever holds the lock makes every chisol wait. */
	fd = openat(dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		rc = error_errno(err, errno, "cannot open %s/lock", path);
		goto refused;
	}
	rc = wait_for_lock(root, fd, path, waiting);
	if (rc)
		return error_errno(err, -rc, "cannot lock %s/lock", path);
	*lock_fd = take_fd(&fd);
	return 0;

refused:
	if (rc == -EACCES || rc == -EPERM)
		error_append(err, "; settings of the machine are root's to change");
	return rc;
}
