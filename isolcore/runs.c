/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runs.h"

#include "process.h"
#include "state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

void run_list_free(struct run_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		journal_free(&list->runs[i]);
	free(list->runs);
	namelist_free(&list->bad);
	free(list->bad_live);
	*list = (struct run_list)RUN_LIST_INIT;
}

static bool is_locked(const char *path, const struct system *sys)
{
	_cleanup_close_ int fd =
		sysroot_openat(&sys->root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, NULL);
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fd >= 0 && !fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK;
}

static bool is_journal(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && !strcmp(dot, ".journal");
}

static int by_order(const void *a, const void *b)
{
	const struct journal *m = a, *n = b;

	if (m->order != n->order)
		return m->order < n->order ? -1 : 1;
	return strcmp(m->run_id, n->run_id);
}

static void load_one(struct run_list *list, const struct system *sys, const char *dir,
                     const char *name)
{
	_cleanup_error_ struct error error = ERROR_INIT;
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	struct journal journal = JOURNAL_INIT;
	int rc = journal_load(&journal, sys, path, &error);

	if (rc == -ENOENT) /* its run has ended since the directory was read */
		return;
	if (rc) {
		namelist_add(&list->bad, error.text);
		if (!list->bad_live && is_locked(path, sys))
			list->bad_live = xstrdup(error.text);
		return;
	}
	list->runs = xgrow(list->runs, list->n + 1, &list->room, sizeof(*list->runs));
	list->runs[list->n++] = journal;
}

static bool is_own(const char *name, const struct journal *own)
{
	return own && own->path && !strcmp(name, strrchr(own->path, '/') + 1);
}

/* 0 if it is not there, or not a directory. */
static size_t count_journals(const struct sysroot *root, const char *path)
{
	int fd = sysroot_openat(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, NULL);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t n = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	for (struct dirent *entry; (entry = readdir(dir));)
		n += is_journal(entry->d_name);
	closedir(dir);
	return n;
}

void others_runs_find(struct others_runs *others, const struct system *sys)
{
	_cleanup_namelist_ struct namelist names = NAMELIST_INIT;

	*others = (struct others_runs){ 0 };
	if (!sys->root.live || geteuid() || sysroot_list(&sys->root, "/run/user", &names, NULL))
		return;
	for (size_t i = 0; i < names.n; i++) {
		const char *name = names.names[i];
		size_t digits = strspn(name, "0123456789"), n;
		_cleanup_free_ char *path = xasprintf("/run/user/%s/chisol", name);

		if (!digits || digits > 9 || name[digits])
			continue;
		n = count_journals(&sys->root, path);
		if (!n)
			continue;
		others->users =
			xgrow(others->users, others->n + 1, &others->room, sizeof(*others->users));
		others->users[others->n++] =
			(struct others_run){ (uid_t)strtoul(name, NULL, 10), n };
	}
}

void others_runs_free(struct others_runs *others)
{
	free(others->users);
	*others = (struct others_runs){ 0 };
}

int run_list_load(struct run_list *list, const struct system *sys, const struct journal *own,
                  struct error *err)
{
	_cleanup_namelist_ struct namelist names = NAMELIST_INIT;
	_cleanup_free_ char *path = state_dir(&sys->root);
	_cleanup_close_ int dir = state_open(&sys->root, err);
	int rc;

	*list = (struct run_list)RUN_LIST_INIT;
	if (dir == -ENOENT) {
		if (err)
			error_clear(err);
		return 0;
	}
	if (dir < 0)
		return dir;
	rc = sysroot_list(&sys->root, path, &names, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < names.n; i++)
		if (is_journal(names.names[i]) && !is_own(names.names[i], own))
			load_one(list, sys, path, names.names[i]);
	if (list->n && !*sys->machine.boot_id) {
		run_list_free(list);
		return error_set(err, ENOENT,
		                 "cannot tell which journals in %s are of this boot: "
		                 "/proc/sys/kernel/random/boot_id cannot be read",
		                 path);
	}
	if (list->n)
		qsort(list->runs, list->n, sizeof(*list->runs), by_order);
	return 0;
}

bool run_is_own(const struct journal *j)
{
	struct process self;

	return j->pid == getpid() && !process_self(&self, NULL) && j->start_time == self.start_time;
}

enum run_state run_state(const struct journal *j, const struct system *sys)
{
	if (is_locked(j->path, sys))
		return RUN_LIVE;
	if (strcmp(j->boot_id, sys->machine.boot_id) != 0)
		return RUN_OTHER_BOOT;
	if (run_is_own(j))
		return RUN_DEAD;
	return process_alive(&sys->root, j->pid, j->start_time) ? RUN_LIVE : RUN_DEAD;
}

unsigned long long run_list_next_order(const struct run_list *list)
{
	return list->n ? list->runs[list->n - 1].order + 1 : 1;
}

void run_list_cpus(const struct run_list *list, const struct system *sys, struct cpumask *taken)
{
	for (size_t i = 0; i < list->n; i++)
		if (run_state(&list->runs[i], sys) != RUN_OTHER_BOOT)
			cpumask_or(taken, &list->runs[i].cpus);
}

int run_list_check_cpus(const struct run_list *list, const struct system *sys,
                        const struct cpumask *wanted, struct error *err)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct journal *run = &list->runs[i];
		_cleanup_cpumask_ struct cpumask both = CPUMASK_INIT;
		_cleanup_free_ char *cpus = NULL;
		enum run_state state;

		if (!cpumask_intersects(&run->cpus, wanted))
			continue;
		state = run_state(run, sys);
		if (state == RUN_OTHER_BOOT)
			continue;
		cpumask_copy(&both, &run->cpus);
		cpumask_and(&both, wanted);
		cpus = cpumask_list(&both);
		if (state == RUN_DEAD)
			return error_set(err, EBUSY,
			                 "cannot use CPU %s: run %s (%s), which had it, was killed "
			                 "and cannot be put back; choose other CPUs or see chisol "
			                 "--restore",
			                 cpus, run->run_id, run->command);
		return error_set(err, EBUSY,
		                 "cannot use CPU %s: run %s (process %d: %s) has it; choose other "
		                 "CPUs or wait for that run to end (chisol --status lists them)",
		                 cpus, run->run_id, run->pid, run->command);
	}
	return 0;
}
