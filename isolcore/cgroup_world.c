/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgroup_world.h"
#include "process.h"

#include <errno.h>
#include <libcgroup.h>

/* One line of /proc/self/mountinfo, cut in place. */
struct mount {
	char *root;  /* the directory of the file system that is mounted */
	char *point; /* where */
	char *options;
	char *type;
	char *super_options;
};

/* The kernel writes blank, tab, newline and backslash as \ooo (show_mountinfo()). */
static void unescape(char *text)
{
	char *out = text;

	for (const char *in = text; *in; out++) {
		if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] >= '0' && in[2] <= '7' &&
		    in[3] >= '0' && in[3] <= '7') {
			*out = (char)((in[1] - '0') << 6 | (in[2] - '0') << 3 | (in[3] - '0'));
			in += 4;
		} else {
			*out = *in++;
		}
	}
	*out = '\0';
}

/* 36 35 98:0 /root /point rw,noatime optional... - type source super,options */
static bool parse_mount(struct mount *mount, char *line)
{
	char *dash = strstr(line, " - "), *before[6], *after[3], *save = NULL;

	if (!dash)
		return false;
	*dash = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		if (!(before[i] = strtok_r(i ? NULL : line, " ", &save)))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(after); i++)
		if (!(after[i] = strtok_r(i ? NULL : dash + 3, " ", &save)))
			return false;
	unescape(before[3]);
	unescape(before[4]);
	*mount = (struct mount){ before[3], before[4], before[5], after[0], after[2] };
	return before[3][0] == '/' && before[4][0] == '/';
}

bool cgroup_has_word(const char *text, const char *separators, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = text; *p; p += strcspn(p, separators)) {
		p += strspn(p, separators);
		if (!strncmp(p, word, n) && (!p[n] || strchr(separators, p[n])))
			return true;
	}
	return false;
}

/* The group in the text of /proc/PID/cgroup, in the hierarchy with that controller ("": v2). */
static char *find_group(const char *text, const char *controller)
{
	_cleanup_free_ char *copy = xstrdup(text);
	char *save = NULL;

	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *controllers = strchr(line, ':');
		char *group = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!group || group[1] != '/')
			continue;
		*group++ = '\0';
		controllers++;
		if (*controller ? cgroup_has_word(controllers, ",", controller) : !*controllers)
			return xstrdup(group);
	}
	return NULL;
}

int cgroup_of(const struct system *sys, enum cgroup_kind kind, pid_t pid, char **group,
              struct error *err)
{
	_cleanup_free_ char *path =
		pid ? xasprintf("/proc/%d/cgroup", (int)pid) : xstrdup("/proc/self/cgroup");
	_cleanup_free_ char *text = NULL;
	struct process process;
	int rc = sysroot_read(&sys->root, path, &text, err);

	*group = NULL;
	if (rc)
		return rc;
	/* proc_cgroup_show() prints "/" for it, wherever it was. */
	if (kind == CGROUP_V1 && pid && !process_read(&process, &sys->root, pid, NULL) &&
	    process.state == 'Z')
		return error_set(err, ESRCH, "cannot tell the group of process %d: it has ended",
		                 (int)pid);
	*group = find_group(text, kind == CGROUP_V1 ? "cpuset" : "");
	if (!*group)
		return error_set(err, EINVAL, "cannot read %s: no line for the cpuset hierarchy",
		                 path);
	return 0;
}

/* What is left of group below root: "" or "/...". NULL: the mount does not show it. */
static char *below(const char *root, const char *group)
{
	size_t n = strcmp(root, "/") ? strlen(root) : 0;

	if (strncmp(group, root, n) || (group[n] && group[n] != '/'))
		return NULL;
	return xstrdup(strcmp(group + n, "/") ? group + n : "");
}

char *cgroup_v1_own(const struct system *sys, const char *controller)
{
	_cleanup_free_ char *mounts = NULL, *text = NULL, *group = NULL;
	char *save = NULL;

	if (sysroot_read(&sys->root, "/proc/self/cgroup", &text, NULL) ||
	    sysroot_read_limit(&sys->root, "/proc/self/mountinfo", SYSROOT_BIG, &mounts, NULL))
		return NULL;
	group = find_group(text, controller);
	if (!group)
		return NULL;
	for (char *line = strtok_r(mounts, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		_cleanup_free_ char *own = NULL;
		struct mount mount;

		if (!parse_mount(&mount, line) || strcmp(mount.type, "cgroup") != 0 ||
		    !cgroup_has_word(mount.super_options, ",", controller))
			continue;
		own = below(mount.root, group);
		if (own)
			return xasprintf("%s%s", mount.point, own);
	}
	return NULL;
}

bool cgroup_has_file(const struct system *sys, const char *group, const char *file)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", group, file);

	return sysroot_exists(&sys->root, path);
}

/* Does a mount have cpuset files, and with which prefix? NULL: it has none. */
static const char *find_prefix(const struct system *sys, const struct mount *mount)
{
	if (!strcmp(mount->type, "cgroup2")) {
		_cleanup_free_ char *path = xasprintf("%s/cgroup.controllers", mount->point),
				    *text = NULL;

		if (sysroot_read(&sys->root, path, &text, NULL))
			return NULL;
		return cgroup_has_word(text, " ", "cpuset") ? "cpuset." : NULL;
	}
	if (cgroup_has_file(sys, mount->point, "cpuset.cpus"))
		return "cpuset.";
	return cgroup_has_file(sys, mount->point, "cpus") ? "" : NULL;
}

struct exclusive_search {
	const struct system *sys;
	bool found;
};

static bool look_for_exclusive(void *ctx, const char *group)
{
	struct exclusive_search *search = ctx;

	search->found =
		search->found || cgroup_has_file(search->sys, group, "cpuset.cpus.exclusive");
	return !search->found;
}

/* The root group does not have the file itself, so any other group is looked at; where there is
 * none with the controller, the kernel's version tells. */
static bool has_exclusive(const struct system *sys, const struct cgroup_world *world)
{
	struct exclusive_search search = { sys, false };

	if (machine_kernel_at_least(&sys->machine, 6, 7) ||
	    cgroup_has_file(sys, world->mount, "cpuset.cpus.exclusive"))
		return true;
	cgroup_for_each(sys, world->mount, look_for_exclusive, &search);
	return search.found;
}

static void take(struct cgroup_world *world, const struct system *sys, const struct mount *mount,
                 const char *prefix, const char *group)
{
	bool v2 = !strcmp(mount->type, "cgroup2");

	free(world->mount);
	free(world->root);
	free(world->own);
	world->kind = v2 ? CGROUP_V2 : CGROUP_V1;
	world->mount = xstrdup(strcmp(mount->point, "/") ? mount->point : "");
	world->root = xstrdup(strcmp(mount->root, "/") ? mount->root : "");
	world->own = below(mount->root, group);
	if (!world->own) /* joined from elsewhere, or a parent name space's group: not shown */
		world->own = xstrdup("");
	world->prefix = prefix;
	world->read_only = cgroup_has_word(mount->options, ",", "ro") ||
	                   cgroup_has_word(mount->super_options, ",", "ro");
	/* release_agent is in the v1 root only, cgroup.type in all v2 groups but the root. */
	world->whole = v2 ? !cgroup_has_file(sys, mount->point, "cgroup.type")
	                  : cgroup_has_file(sys, mount->point, "release_agent");
	world->exclusive = v2 && has_exclusive(sys, world);
}

static const char *why_none(const struct system *sys, bool v1, bool v2)
{
	_cleanup_free_ char *types = NULL;

	if (!sysroot_read(&sys->root, "/proc/filesystems", &types, NULL) &&
	    !cgroup_has_word(types, "\t\n", "cgroup2") && !cgroup_has_word(types, "\t\n", "cgroup"))
		return "this kernel is built without control groups (CONFIG_CGROUPS)";
	if (v2)
		return "the cgroup v2 tree that is mounted here does not offer the cpuset controller: "
		       "a v1 hierarchy holds it, the container's creator did not delegate it, or "
		       "the kernel is built without CONFIG_CPUSETS";
	if (v1)
		return "cgroup v1 hierarchies are mounted, none of them with cpuset (Linux >= 6.12 "
		       "needs CONFIG_CPUSETS_V1 for that)";
	return "no cgroup file system is mounted";
}

static char *describe(const struct system *sys, const struct cgroup_world *world, bool v1, bool v2)
{
	if (world->kind == CGROUP_NONE)
		return xasprintf("no cpusets: %s", why_none(sys, v1, v2));
	return xasprintf("cpusets by cgroup %s at %s%s%s%s%s%s",
	                 world->kind == CGROUP_V1 ? "v1" : "v2", *world->mount ? world->mount : "/",
	                 world->kind == CGROUP_V1 && !*world->prefix ? " (noprefix)" : "",
	                 world->hybrid ? ", beside hierarchies of the other version" : "",
	                 world->whole ? "" : ", of which this container sees a part",
	                 world->read_only ? ", read-only" : "",
	                 world->systemd && world->kind == CGROUP_V2 ? ", managed by systemd" : "");
}

void cgroup_world_ask_libcgroup(struct cgroup_world *world, const struct system *sys)
{
	_cleanup_free_ char *mount = NULL;
	int rc;

	if (!sys->root.live)
		return;
	rc = cgroup_init();
	if (!rc)
		rc = cgroup_get_subsys_mount_point("cpuset", &mount);
	if (rc && world->kind == CGROUP_NONE)
		return;
	if (rc || world->kind == CGROUP_NONE || strcmp(mount, world->mount)) {
		xappend(&world->sentence, " (libcgroup finds it at %s)", rc ? "no place" : mount);
	} else {
		world->libcgroup = true;
	}
}

int cgroup_world_read(struct cgroup_world *world, const struct system *sys, struct error *err)
{
	_cleanup_free_ char *mounts = NULL;
	bool v1 = false, v2 = false;
	char *save = NULL;
	int rc;

	*world = (struct cgroup_world){ .prefix = "cpuset." };
	/* A recorded tree without the file is one of a machine without cgroups. */
	if (!sys->root.live && !sysroot_exists(&sys->root, "/proc/self/mountinfo"))
		mounts = xstrdup("");
	rc = mounts ? 0
	            : sysroot_read_limit(&sys->root, "/proc/self/mountinfo", SYSROOT_BIG, &mounts,
	                                 err);
	if (rc)
		return rc;
	for (char *line = strtok_r(mounts, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		_cleanup_free_ char *group = NULL;
		const char *prefix;
		struct mount mount;
		bool is_v2;

		if (!parse_mount(&mount, line))
			continue;
		is_v2 = !strcmp(mount.type, "cgroup2");
		if (!is_v2 && strcmp(mount.type, "cgroup") && strcmp(mount.type, "cpuset"))
			continue;
		v1 = v1 || !is_v2;
		v2 = v2 || is_v2;
		if (!is_v2 && strcmp(mount.type, "cpuset") &&
		    !cgroup_has_word(mount.super_options, ",", "cpuset"))
			continue;
		prefix = find_prefix(sys, &mount);
		/* The same hierarchy again, elsewhere: better only if more of it is writable. */
		if (!prefix || (world->kind != CGROUP_NONE && !world->read_only))
			continue;
		cgroup_of(sys, is_v2 ? CGROUP_V2 : CGROUP_V1, 0, &group, NULL);
		take(world, sys, &mount, prefix, group ? group : "/");
	}
	world->hybrid = v1 && v2;
	world->systemd = sysroot_exists(&sys->root, "/run/systemd/system");
	world->sentence = describe(sys, world, v1, v2);
	return 0;
}

void cgroup_world_free(struct cgroup_world *world)
{
	free(world->mount);
	free(world->root);
	free(world->own);
	free(world->sentence);
	*world = (struct cgroup_world){ 0 };
}

char *cgroup_file(const struct cgroup_world *world, const char *group, const char *name)
{
	return xasprintf("%s/%s%s", group, world->prefix, name);
}

void cgroup_for_each(const struct system *sys, const char *dir, cgroup_visit_fn *visit, void *ctx)
{
	_cleanup_namelist_ struct namelist names = NAMELIST_INIT;

	if (sysroot_list(&sys->root, dir, &names, NULL))
		return;
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *group = xasprintf("%s/%s", dir, names.names[i]);

		/* Every group of either version has the file, and nothing else is a directory. */
		if (cgroup_has_file(sys, group, "cgroup.procs") && visit(ctx, group))
			cgroup_for_each(sys, group, visit, ctx);
	}
}

int cgroup_read_cpus(const struct system *sys, const char *path, struct cpumask *cpus,
                     struct error *err)
{
	_cleanup_free_ char *text = NULL;
	int rc;

	*cpus = (struct cpumask)CPUMASK_INIT;
	if (!sysroot_exists(&sys->root, path))
		return 0;
	rc = sysroot_read(&sys->root, path, &text, err);
	if (!rc && cpumask_parse_list(cpus, text))
		rc = error_set(err, EINVAL, "cannot read %s: \"%.60s\" is not a list of CPUs", path,
		               text);
	return rc;
}
