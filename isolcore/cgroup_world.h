/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which cgroup world this is: where the cpuset controller is, and what the calling process sees of
 * its tree. Found from /proc/self/mountinfo and /proc/self/cgroup (cgroups(7),
 * proc_pid_mountinfo(5), Documentation/admin-guide/cgroup-v1/cpusets.rst, .../cgroup-v2.rst), so
 * that a recorded tree does as well. Nothing is ever mounted.
 */
#ifndef ISOLCORE_CGROUP_WORLD_H
#define ISOLCORE_CGROUP_WORLD_H

#include "machine.h"

enum cgroup_kind {
	CGROUP_NONE, /* no hierarchy that is visible here has the cpuset controller */
	CGROUP_V1,
	CGROUP_V2,
};

struct cgroup_world {
	enum cgroup_kind kind;
	char *mount;        /* where the hierarchy is mounted, without "/" at the end */
	char *root;         /* what of it is mounted there, as in /proc/PID/cgroup; "" for all */
	char *own;          /* the calling process's group below mount, "" for the mount itself */
	const char *prefix; /* of the cpuset files: "cpuset.", or "" on a v1 noprefix mount */
	bool hybrid;        /* v1 and v2 hierarchies are both mounted */
	bool read_only;     /* by the mount's options */
	bool whole;         /* mount is the real root of the tree; else only a part is visible,
	                       as in a container */
	bool systemd;       /* systemd runs this machine, and takes the v2 tree for its own */
	bool exclusive;     /* v2: there is cpuset.cpus.exclusive (Linux 6.7) */
	bool libcgroup;     /* see cgroup_world_ask_libcgroup() */
	char *sentence;     /* for people: what was found, and for CGROUP_NONE why */
};

int cgroup_world_read(struct cgroup_world *world, const struct system *sys, struct error *err);
void cgroup_world_free(struct cgroup_world *world);
#define _cleanup_cgroup_world_ _cleanup_(cgroup_world_free)
/*
 * libcgroup has its own reading of the mount table (live only). Where the two differ, chisol goes
 * by its own, and the sentence says so. Costs as much as all else that chisol does at its start:
 * libcgroup touches megabytes of tables.
 */
void cgroup_world_ask_libcgroup(struct cgroup_world *world, const struct system *sys);

/* The group of a process as /proc/PID/cgroup has it (pid 0: the caller's). On v1 a zombie's group
 * is not known any more: -ESRCH. */
int cgroup_of(const struct system *sys, enum cgroup_kind kind, pid_t pid, char **group,
              struct error *err);

/* The directory of the caller's group in the v1 hierarchy of a controller; NULL: there is none, or
 * it is not visible here. The caller frees it. */
char *cgroup_v1_own(const struct system *sys, const char *controller);

/* Is there such a file in the group's directory? */
bool cgroup_has_file(const struct system *sys, const char *group, const char *file);
/* The path of a cpuset file of a group ("cpus", "mems", ...). The caller frees it. */
char *cgroup_file(const struct cgroup_world *world, const char *group, const char *name);

/*
 * Calls visit for every group below dir, parents first (dir itself left out). Groups that go away
 * meanwhile are passed over. It stops below groups for which visit returns false.
 */
typedef bool cgroup_visit_fn(void *ctx, const char *group);
void cgroup_for_each(const struct system *sys, const char *dir, cgroup_visit_fn *visit, void *ctx);

/* Reads a list of CPUs or nodes; an absent file is the empty set. */
int cgroup_read_cpus(const struct system *sys, const char *path, struct cpumask *cpus,
                     struct error *err);
/* Is word one of the words in text, separated by any of the separators? */
bool cgroup_has_word(const char *text, const char *separators, const char *word);

#endif
