/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine.h"

#include <errno.h>
#include <sys/utsname.h>

#define CPU_DIR "/sys/devices/system/cpu"

/* An absent or unreadable file of these is "": each has a meaning without it. */
static char *read_or_empty(const struct sysroot *root, const char *path)
{
	char *text = NULL;

	return sysroot_read(root, path, &text, NULL) ? xstrdup("") : text;
}

static int read_mask(const struct sysroot *root, const char *path, struct cpumask *mask,
                     struct error *err)
{
	_cleanup_free_ char *text = NULL;
	int rc = sysroot_read(root, path, &text, err);

	if (rc)
		return rc;
	rc = cpumask_parse_list(mask, text);
	if (rc)
		return error_set(err, EINVAL, "cannot read %s: \"%.60s\" is not a list of CPUs",
		                 path, text);
	return 0;
}

/* Returns 1 if there is such a file, and 0 if not. */
static int read_optional_mask(const struct sysroot *root, const char *path, struct cpumask *mask,
                              struct error *err)
{
	_cleanup_error_ struct error error = ERROR_INIT;
	int rc = read_mask(root, path, mask, &error);

	if (rc == -ENOENT || rc == -ENOTDIR)
		return 0;
	return rc ? error_move(err, &error) : 1;
}

static int read_cpus(struct system *sys, struct error *err)
{
	const struct sysroot *root = &sys->root;
	struct machine *m = &sys->machine;
	int rc;

	rc = read_mask(root, CPU_DIR "/online", &m->online, err);
	if (!rc && cpumask_empty(&m->online))
		rc = error_set(err, EINVAL, "cannot read " CPU_DIR "/online: no CPU is online");
	if (rc >= 0)
		rc = read_optional_mask(root, CPU_DIR "/possible", &m->possible, err);
	if (rc >= 0)
		rc = read_optional_mask(root, CPU_DIR "/present", &m->present, err);
	if (rc >= 0)
		rc = read_optional_mask(root, CPU_DIR "/isolated", &m->isolated, err);
	if (rc >= 0)
		rc = read_optional_mask(root, CPU_DIR "/nohz_full", &m->nohz_full, err);
	m->has_nohz_full = rc > 0;
	cpumask_or(&m->present, &m->online);
	cpumask_or(&m->possible, &m->present);
	return rc < 0 ? rc : 0;
}

/* In a chroot or a rescue system the files are not just absent. */
static int check_mounts(const struct sysroot *root, struct error *err)
{
	static const struct {
		const char *file, *dir, *type;
	} needed[] = { { "/proc/self/stat", "/proc", "proc" }, { CPU_DIR, "/sys", "sysfs" } };

	for (size_t i = 0; root->live && i < ARRAY_SIZE(needed); i++)
		if (!sysroot_exists(root, needed[i].file))
			return error_set(err, ENOENT,
			                 "cannot look at this machine: there is no %s; mount -t %s "
			                 "%s %s",
			                 needed[i].file, needed[i].type, needed[i].type,
			                 needed[i].dir);
	return 0;
}

int system_open(struct system *sys, const char *dir, struct error *err)
{
	struct machine *m = &sys->machine;
	struct utsname uts;
	int rc;

	*sys = (struct system)SYSTEM_INIT;
	rc = sysroot_open(&sys->root, dir, err);
	if (!rc)
		rc = check_mounts(&sys->root, err);
	if (rc) {
		system_close(sys);
		return rc;
	}
	m->release = read_or_empty(&sys->root, "/proc/sys/kernel/osrelease");
	if (sscanf(m->release, "%5u.%5u", &m->kernel_major, &m->kernel_minor) != 2)
		m->kernel_major = m->kernel_minor = 0;
	m->hostname = read_or_empty(&sys->root, "/proc/sys/kernel/hostname");
	m->boot_id = read_or_empty(&sys->root, "/proc/sys/kernel/random/boot_id");
	m->cmdline = read_or_empty(&sys->root, "/proc/cmdline");
	m->arch = sys->root.live && !uname(&uts)
	                  ? xstrdup(uts.machine)
	                  : read_or_empty(&sys->root, "/proc/sys/kernel/arch");
	rc = read_cpus(sys, err);
	if (rc)
		system_close(sys);
	return rc;
}

void system_close(struct system *sys)
{
	struct machine *m = &sys->machine;

	sysroot_close(&sys->root);
	free(m->release);
	free(m->arch);
	free(m->hostname);
	free(m->boot_id);
	free(m->cmdline);
	cpumask_free(&m->possible);
	cpumask_free(&m->present);
	cpumask_free(&m->online);
	cpumask_free(&m->isolated);
	cpumask_free(&m->nohz_full);
	*sys = (struct system)SYSTEM_INIT;
}

bool machine_kernel_at_least(const struct machine *m, unsigned int major, unsigned int minor)
{
	return m->kernel_major > major || (m->kernel_major == major && m->kernel_minor >= minor);
}

void machine_housekeeping(struct cpumask *cpus, const struct machine *m)
{
	cpumask_copy(cpus, &m->online);
	cpumask_andnot(cpus, &m->isolated);
	cpumask_andnot(cpus, &m->nohz_full);
}

bool system_all_offline(const struct system *sys, const struct cpumask *cpus)
{
	_cleanup_cpumask_ struct cpumask online = CPUMASK_INIT;

	return !cpumask_empty(cpus) && !read_mask(&sys->root, CPU_DIR "/online", &online, NULL) &&
	       !cpumask_intersects(cpus, &online);
}

int system_node_cpus(const struct system *sys, unsigned int node, struct cpumask *cpus,
                     struct error *err)
{
	_cleanup_free_ char *path = xasprintf("/sys/devices/system/node/node%u/cpulist", node);

	return read_mask(&sys->root, path, cpus, err);
}

int system_siblings(const struct system *sys, unsigned int cpu, struct cpumask *cpus,
                    struct error *err)
{
	_cleanup_free_ char *path = xasprintf(CPU_DIR "/cpu%u/topology/thread_siblings_list", cpu);

	return read_mask(&sys->root, path, cpus, err);
}

void system_core_mates(const struct system *sys, const struct cpumask *cpus, struct cpumask *mates)
{
	cpumask_for_each (cpu, cpus) {
		_cleanup_cpumask_ struct cpumask siblings = CPUMASK_INIT;

		if (!system_siblings(sys, (unsigned int)cpu, &siblings, NULL))
			cpumask_or(mates, &siblings);
	}
	cpumask_and(mates, &sys->machine.online);
	cpumask_andnot(mates, cpus);
}
