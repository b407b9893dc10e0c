/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorded tree for a test: a temporary directory with a few files, opened as a system.
 * What goes wrong in here ends the test with cmocka's assertions.
 */
#ifndef TESTS_UNIT_TREE_H
#define TESTS_UNIT_TREE_H

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "../../isolcore/machine.h"

struct tree_file {
	const char *path; /* without a leading slash; NULL ends an array */
	const char *text; /* a newline is appended */
};

struct tree {
	char dir[32];
	struct system sys;
};

static inline void tree_write(const char *dir, const char *path, const char *text)
{
	_cleanup_free_ char *full = xasprintf("%s/%s", dir, path);
	_cleanup_fclose_ FILE *f = NULL;

	for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	f = fopen(full, "we");
	assert_non_null(f);
	assert_true(fprintf(f, "%s\n", text) >= 0);
}

static inline struct tree *tree_open(const struct tree_file *files)
{
	struct tree *t = xcalloc(1, sizeof(*t));

	strcpy(t->dir, "/tmp/chisol-unit-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	for (; files->path; files++)
		tree_write(t->dir, files->path, files->text);
	assert_int_equal(system_open(&t->sys, t->dir, NULL), 0);
	return t;
}

/* Writes a file as it is, with the directories above it. The path begins with a slash. */
static inline void tree_put(const struct tree *t, const char *path, const char *text)
{
	_cleanup_free_ char *full = xasprintf("%s%s", t->dir, path);
	_cleanup_fclose_ FILE *f = NULL;

	tree_write(t->dir, path + 1, "");
	f = fopen(full, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
}

static inline void tree_remove(const struct tree *t, const char *path)
{
	_cleanup_free_ char *full = xasprintf("%s%s", t->dir, path);

	assert_int_equal(remove(full), 0);
}

static inline void tree_expect(const struct tree *t, const char *path, const char *text)
{
	_cleanup_free_ char *is = NULL;

	assert_int_equal(sysroot_read_limit(&t->sys.root, path, SYSROOT_SMALL, &is, NULL), 0);
	assert_string_equal(is, text);
}

static inline const struct system *tree_system(const struct tree *t)
{
	return &t->sys;
}

static inline int tree_unlink(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void tree_close(struct tree *t)
{
	system_close(&t->sys);
	nftw(t->dir, tree_unlink, 16, FTW_DEPTH | FTW_PHYS);
	free(t);
}

static inline void tree_closep(struct tree **t)
{
	if (*t)
		tree_close(*t);
}
/* For tests whose state is a tree. */
static inline int tree_teardown(void **state)
{
	tree_close(*state);
	return 0;
}

#define _cleanup_tree_ _cleanup_(tree_closep)

#endif
