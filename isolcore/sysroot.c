/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sysroot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

int sysroot_open(struct sysroot *root, const char *dir, struct error *err)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_errno(err, errno, "cannot open the root directory %s", dir);
	*root = (struct sysroot){ .fd = fd, .live = !strcmp(dir, "/"), .dir = xstrdup(dir) };
	if (root->live && geteuid())
		root->run_dir = xasprintf("/run/user/%u", geteuid());
	if (!root->run_dir || !sysroot_exists(root, root->run_dir))
		xreplace(&root->run_dir, "/run");
	return 0;
}

void sysroot_close(struct sysroot *root)
{
	if (root->fd >= 0)
		close(root->fd);
	free(root->dir);
	free(root->run_dir);
	*root = (struct sysroot)SYSROOT_INIT;
}

static const char *relative(const char *path)
{
	while (*path == '/')
		path++;
	return *path ? path : ".";
}

/* Returns a descriptor or -errno. */
static int open_under(const struct sysroot *root, const char *path, int flags)
{
	struct open_how how = { .flags = (unsigned int)(flags | O_CLOEXEC),
		                .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	long fd;

	if (root->live)
		fd = openat(root->fd, relative(path), flags | O_CLOEXEC);
	else
		fd = syscall(SYS_openat2, root->fd, relative(path), &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

int sysroot_openat(const struct sysroot *root, const char *path, int flags, struct error *err)
{
	int fd = open_under(root, path, flags);

	return fd < 0 ? error_errno(err, -fd, "cannot open %s", path) : fd;
}

int read_whole(int fd, size_t limit, char **text, size_t *len)
{
	_cleanup_free_ char *buf = NULL;
	size_t n = 0, room = 0;

	for (;;) {
		ssize_t got;

		buf = xgrow(buf, n ? n + 2 : 256, &room, 1);
		got = read(fd, buf + n, room - n - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		n += (size_t)got;
		if (n > limit)
			return -EFBIG;
	}
	buf[n] = '\0';
	*text = take_ptr(&buf);
	*len = n;
	return 0;
}

int sysroot_read_limit(const struct sysroot *root, const char *path, size_t limit, char **text,
                       struct error *err)
{
	_cleanup_free_ char *buf = NULL;
	_cleanup_close_ int fd = open_under(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	size_t len;
	int rc;

	*text = NULL;
	if (fd < 0)
		return error_errno(err, -fd, "cannot read %s", path);
	rc = read_whole(fd, limit, &buf, &len);
	if (rc == -EFBIG)
		return error_set(err, EFBIG, "cannot read %s: it is larger than %zu bytes", path,
		                 limit);
	if (rc || !buf)
		return error_errno(err, -rc, "cannot read %s", path);
	if (strlen(buf) != len)
		return error_set(err, EINVAL, "cannot read %s: it contains a NUL byte", path);
	*text = take_ptr(&buf);
	return 0;
}

int sysroot_read(const struct sysroot *root, const char *path, char **text, struct error *err)
{
	int rc = sysroot_read_limit(root, path, SYSROOT_SMALL, text, err);

	if (!rc) {
		size_t len = strlen(*text);

		if (len && (*text)[len - 1] == '\n')
			(*text)[len - 1] = '\0';
	}
	return rc;
}

int sysroot_write(const struct sysroot *root, const char *path, const char *value,
                  struct error *err)
{
	_cleanup_free_ char *line = xasprintf("%s\n", value);
	/* A recorded tree has plain files, which must not keep the end of a longer old value. */
	_cleanup_close_ int fd = open_under(root, path, O_WRONLY | (root->live ? 0 : O_TRUNC));
	size_t len = strlen(line);
	ssize_t n;

	if (fd < 0)
		return error_errno(err, -fd, "cannot write \"%s\" to %s", value, path);
	do
		n = write(fd, line, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_errno(err, errno, "cannot write \"%s\" to %s", value, path);
	if ((size_t)n != len)
		return error_set(err, EIO,
		                 "cannot write \"%s\" to %s: only %zd of %zu bytes went in", value,
		                 path, n, len);
	return 0;
}

bool sysroot_exists(const struct sysroot *root, const char *path)
{
	_cleanup_close_ int fd = open_under(root, path, O_PATH);

	return fd >= 0 || (fd != -ENOENT && fd != -ENOTDIR);
}

int sysroot_mode(const struct sysroot *root, const char *path)
{
	_cleanup_close_ int fd = open_under(root, path, O_PATH);
	struct stat st;

	if (fd < 0)
		return fd;
	return fstat(fd, &st) ? -errno : (int)(st.st_mode & 07777);
}

int sysroot_is_kernels(const struct sysroot *root, const char *path)
{
	static const unsigned long kernels[] = { PROC_SUPER_MAGIC, SYSFS_MAGIC, CGROUP_SUPER_MAGIC,
		                                 CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC };
	_cleanup_close_ int fd = open_under(root, path, O_PATH);
	struct statfs fs;

	if (fd < 0)
		return fd;
	if (fstatfs(fd, &fs))
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++)
		if ((unsigned long)fs.f_type == kernels[i])
			return 1;
	return 0;
}

/* Opens the directory that holds path; *name is its last part. */
static int open_parent(const struct sysroot *root, const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *parent = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup("");

	*name = slash ? slash + 1 : path;
	return open_under(root, parent, O_PATH | O_DIRECTORY);
}

int sysroot_mkdir(const struct sysroot *root, const char *path, mode_t mode, struct error *err)
{
	const char *name;
	_cleanup_close_ int fd = open_parent(root, path, &name);

	if (fd < 0)
		return error_errno(err, -fd, "cannot make the directory %s", path);
	if (mkdirat(fd, name, mode))
		return error_errno(err, errno, "cannot make the directory %s", path);
	return 0;
}

int sysroot_rmdir(const struct sysroot *root, const char *path, struct error *err)
{
	const char *name;
	_cleanup_close_ int fd = open_parent(root, path, &name);

	if (fd < 0)
		return error_errno(err, -fd, "cannot remove the directory %s", path);
	if (unlinkat(fd, name, AT_REMOVEDIR))
		return error_errno(err, errno, "cannot remove the directory %s", path);
	return 0;
}

static int by_version(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

int sysroot_list(const struct sysroot *root, const char *path, struct namelist *list,
                 struct error *err)
{
	int fd = open_under(root, path, O_RDONLY | O_DIRECTORY);
	_cleanup_(closedirp) DIR *dir = NULL;

	if (fd < 0)
		return error_errno(err, -fd, "cannot list %s", path);
	dir = fdopendir(fd);
	if (!dir) {
		int saved = errno;

		close(fd);
		return error_errno(err, saved, "cannot list %s", path);
	}
	for (;;) {
		struct dirent *entry;

		errno = 0;
		entry = readdir(dir);
		if (!entry)
			break;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		namelist_add(list, entry->d_name);
	}
	if (errno)
		return error_errno(err, errno, "cannot list %s", path);
	if (list->n)
		qsort(list->names, list->n, sizeof(*list->names), by_version);
	return 0;
}

void namelist_add(struct namelist *list, const char *name)
{
	namelist_take(list, xstrdup(name));
}

void namelist_take(struct namelist *list, char *name)
{
	list->names = xgrow(list->names, list->n + 1, &list->room, sizeof(*list->names));
	list->names[list->n++] = name;
}

void namelist_free(struct namelist *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->names[i]);
	free(list->names);
	*list = (struct namelist)NAMELIST_INIT;
}
