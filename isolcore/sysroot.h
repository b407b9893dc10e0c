/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one directory that every system path is opened under: "/" on the live machine, or a recorded
 * tree (--root DIR). Paths are written as on the machine ("/proc/irq/24/smp_affinity").
 *
 * In a recorded tree paths are resolved with openat2(2) RESOLVE_IN_ROOT (Linux 5.6), so that
 * neither an absolute symbolic link nor ".." leads out of it. Contents are hostile input: readers
 * have a size limit and refuse NUL bytes.
 */
#ifndef ISOLCORE_SYSROOT_H
#define ISOLCORE_SYSROOT_H

#include <stdbool.h>
#include <sys/types.h>

#include "error.h"

struct sysroot {
	int fd;
	bool live; /* "/" itself: processes, system calls and writes mean this machine */
	char *dir; /* as given, for messages */
	/* Where the caller's files of this boot go: "/run", and for other users than root, on the
	 * live machine, /run/user/UID, if there is that. */
	char *run_dir;
};

#define SYSROOT_INIT                  \
	{                             \
		-1, false, NULL, NULL \
	}

/* The limit for the files that hold one value. */
#define SYSROOT_SMALL (1u << 20)
/* The limit for tables such as /proc/interrupts, which has a column for each CPU. */
#define SYSROOT_BIG   (512u << 20)

int sysroot_open(struct sysroot *root, const char *dir, struct error *err);
void sysroot_close(struct sysroot *root);
#define _cleanup_sysroot_ _cleanup_(sysroot_close)

/* Opens a path with O_CLOEXEC | flags. Returns a descriptor or -errno, with a sentence in err. */
int sysroot_openat(const struct sysroot *root, const char *path, int flags, struct error *err);

/* Reads a whole file of at most limit bytes; the text keeps its newlines. The caller frees it. */
int sysroot_read_limit(const struct sysroot *root, const char *path, size_t limit, char **text,
                       struct error *err);
/* The same with SYSROOT_SMALL, and without the trailing newline. */
int sysroot_read(const struct sysroot *root, const char *path, char **text, struct error *err);
/* One write(2) of value and a newline ("" is written as "\n": a zero-byte write never reaches the
 * kernel). The file is neither created nor truncated. A short write is an error (EIO). */
int sysroot_write(const struct sysroot *root, const char *path, const char *value,
                  struct error *err);

/* Is there such a path? (ENOENT and ENOTDIR: no; any other trouble counts as yes.) */
bool sysroot_exists(const struct sysroot *root, const char *path);
/* The permission bits of a path, or -errno. */
int sysroot_mode(const struct sysroot *root, const char *path);
/* Is the path on a file system of the kernel's (proc, sysfs, cgroup, debugfs)? 1, 0, or -errno. */
int sysroot_is_kernels(const struct sysroot *root, const char *path);
int sysroot_mkdir(const struct sysroot *root, const char *path, mode_t mode, struct error *err);
int sysroot_rmdir(const struct sysroot *root, const char *path, struct error *err);

/* All that a descriptor gives, with a NUL behind it. 0 or -errno; -EFBIG: more than limit bytes. */
int read_whole(int fd, size_t limit, char **text, size_t *len);

/* Names in a directory, without "." and "..", in natural order (irq 9 before irq 10). */
struct namelist {
	char **names;
	size_t n, room;
};
#define NAMELIST_INIT      \
	{                  \
		NULL, 0, 0 \
	}
int sysroot_list(const struct sysroot *root, const char *path, struct namelist *list,
                 struct error *err);
void namelist_add(struct namelist *list, const char *name);
void namelist_take(struct namelist *list, char *name); /* the same, and owns it then */
void namelist_free(struct namelist *list);
#define _cleanup_namelist_ _cleanup_(namelist_free)

#endif
