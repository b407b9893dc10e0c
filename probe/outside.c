/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "outside.h"

#include <ctype.h>
#include <fcntl.h>

#include "../isolcore/text.h"

#define CLASS(what) (1u << (what))
#define ANY_CLASS   (CLASS(ISOLPROBE_CLASSES) - 1)

const char *const sign_names[N_SIGNS] = {
	"virtual-machine", "steal-time",  "together",   "everywhere", "sibling-busy",
	"slowed",          "lost-events", "shared-cpu", "moved",
};

const struct outside outsides[] = {
	{ .code = "lost-events",
	  .kernel = true,
	  .what = ANY_CLASS,
	  .needs = SIGN_LOST,
	  .meaning = "the kernel's events of that time were lost" },
	{ .code = "shared-cpu",
	  .kernel = true,
	  .what = CLASS(ISOLPROBE_SWITCHED),
	  .needs = SIGN_SHARED,
	  .meaning = "another loop of the program ran, as several share the CPU" },
	{ .code = "moved",
	  .kernel = true,
	  .what = CLASS(ISOLPROBE_SWITCHED),
	  .needs = SIGN_MOVED,
	  .meaning = "the thread was moved here from another CPU" },
	{ .code = "unseen-task",
	  .kernel = true,
	  .unseen = true,
	  .what = CLASS(ISOLPROBE_SWITCHED),
	  .meaning = "another task ran, as the kernel's count of switches says, and no event tells "
	             "which" },
	{ .code = "unseen-work",
	  .kernel = true,
	  .unseen = true,
	  .what = CLASS(ISOLPROBE_RETURN),
	  .meaning =
	          "the kernel had work to do in the thread, as its restartable sequence says, and "
	          "no event tells what" },
	{ .code = "hypervisor",
	  .what = ANY_CLASS,
	  .needs = SIGN_VM,
	  .meaning = "not the kernel's: the hypervisor ran something else" },
	{ .code = "firmware",
	  .what = ANY_CLASS,
	  .needs = SIGN_EVERYWHERE,
	  .meaning = "not the kernel's: all measured CPUs stood still at once, as in an SMI" },
	{ .code = "slowed",
	  .what = ANY_CLASS,
	  .needs = SIGN_SLOWED,
	  .meaning = "not the kernel's: the CPU was throttled or changed its frequency" },
	{ .code = "sibling",
	  .what = ANY_CLASS,
	  .needs = SIGN_SIBLING,
	  .meaning = "not the kernel's: an SMT sibling used the core" },
	{ .code = "hardware",
	  .what = ANY_CLASS,
	  .meaning = "not the kernel's: firmware (SMI), the memory or the CPU itself" },
	{ 0 },
};
const unsigned int n_outsides = ARRAY_SIZE(outsides) - 1;

const struct outside *outside_find(enum isolprobe_class what, unsigned int signs)
{
	const struct outside *row = outsides;

	while (row[1].code && (!(row->what & CLASS(what)) || (row->needs & signs) != row->needs))
		row++;
	return row;
}

bool outside_is_vm(const struct sysroot *root, const char *cpuinfo)
{
	static const char *const paths[] = { "/sys/hypervisor/type",
		                             "/proc/device-tree/hypervisor" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (sysroot_exists(root, paths[i]))
			return true;
	return cpuinfo && strstr(cpuinfo, " hypervisor");
}

static void find_machine(struct outside_watch *watch, const struct sysroot *root)
{
	_cleanup_free_ char *cpuinfo = NULL;

	sysroot_read_limit(root, "/proc/cpuinfo", SYSROOT_BIG, &cpuinfo, NULL);
	watch->vm = outside_is_vm(root, cpuinfo);
	watch->intel = cpuinfo && strstr(cpuinfo, "GenuineIntel");
}

/* How often the CPU was slowed down, or went at another speed, so far. */
static uint64_t count_slowed(const struct sysroot *root, unsigned int cpu)
{
	static const char *const names[] = { "thermal_throttle/core_throttle_count",
		                             "thermal_throttle/package_throttle_count",
		                             "cpufreq/stats/total_trans" };
	uint64_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *path =
			xasprintf("/sys/devices/system/cpu/cpu%u/%s", cpu, names[i]);
		_cleanup_free_ char *text = NULL;
		unsigned long long value;

		if (!sysroot_read(root, path, &text, NULL) && text_unsigned(text, &value))
			count += value;
	}
	return count;
}

#define MSR_SMI_COUNT 0x34 /* Intel, since Nehalem */

/* False: there is no such register, or no way to read it. */
static bool read_smis(const struct outside_watch *watch, unsigned int cpu, uint64_t *smis)
{
	_cleanup_free_ char *path = xasprintf("/dev/cpu/%u/msr", cpu);
	_cleanup_close_ int fd = -1;

	/* A hypervisor counts none, and may well say 0. */
	if (watch->vm || !watch->intel)
		return false;
	fd = sysroot_openat(&watch->sys->root, path, O_RDONLY, NULL);
	return fd >= 0 && pread(fd, smis, sizeof(*smis), MSR_SMI_COUNT) == sizeof(*smis);
}

void outside_open(struct outside_watch *watch, const struct system *sys, const struct cpumask *cpus)
{
	*watch = (struct outside_watch){ .sys = sys };
	find_machine(watch, &sys->root);
	watch->cpus = xcalloc(cpumask_weight(cpus), sizeof(*watch->cpus));
	cpumask_for_each (cpu, cpus) {
		struct outside_cpu *c = &watch->cpus[watch->n_cpus++];

		c->cpu = (unsigned int)cpu;
		/* Without the file, as on some arm64 machines, there is no SMT. */
		if (!system_siblings(sys, c->cpu, &c->siblings, NULL))
			cpumask_clear_cpu(&c->siblings, c->cpu);
		c->slow_at_begin = c->slow = count_slowed(&sys->root, c->cpu);
		c->has_smis = read_smis(watch, c->cpu, &c->smis_at_begin);
	}
}

/* One line of /proc/stat: "cpu3 user nice system idle iowait irq softirq steal ...". */
static bool parse_line(const char *line, unsigned int *cpu, uint64_t *steal, uint64_t *busy)
{
	unsigned long long v[8];

	if (sscanf(line, "cpu%9u %20llu %20llu %20llu %20llu %20llu %20llu %20llu %20llu", cpu,
	           &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 9)
		return false;
	*steal = v[7];
	*busy = v[0] + v[1] + v[2] + v[5] + v[6];
	return true;
}

static void add_line(struct outside_watch *watch, struct outside_look *look, const char *line)
{
	unsigned int cpu;
	uint64_t steal, busy;

	if (!parse_line(line, &cpu, &steal, &busy))
		return;
	for (size_t i = 0; i < watch->n_cpus; i++) {
		if (watch->cpus[i].cpu == cpu)
			look->steal[i] = steal;
		if (cpumask_test(&watch->cpus[i].siblings, cpu))
			look->busy[i] += busy;
	}
}

static struct outside_look *next_look(struct outside_watch *watch)
{
	struct outside_look *look;

	if (watch->n_looks == OUTSIDE_LOOKS) {
		struct outside_look oldest = watch->looks[0];

		memmove(watch->looks, watch->looks + 1, sizeof(watch->looks) - sizeof(oldest));
		watch->looks[--watch->n_looks] = oldest;
	}
	look = &watch->looks[watch->n_looks++];
	if (!look->steal) {
		look->steal = xcalloc(watch->n_cpus, sizeof(*look->steal));
		look->busy = xcalloc(watch->n_cpus, sizeof(*look->busy));
	}
	memset(look->steal, 0, watch->n_cpus * sizeof(*look->steal));
	memset(look->busy, 0, watch->n_cpus * sizeof(*look->busy));
	return look;
}

void outside_look(struct outside_watch *watch, uint64_t time)
{
	_cleanup_free_ char *text = NULL;
	bool first = !watch->n_looks;
	struct outside_look *look;

	if (sysroot_read_limit(&watch->sys->root, "/proc/stat", SYSROOT_BIG, &text, NULL))
		return;
	look = next_look(watch);
	look->time = time;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, "cpu", 3) && isdigit((unsigned char)line[3]))
			add_line(watch, look, line);
	}
	for (size_t i = 0; i < watch->n_cpus; i++) {
		struct outside_cpu *c = &watch->cpus[i];

		c->slow = count_slowed(&watch->sys->root, c->cpu);
		if (first)
			c->steal_at_begin = look->steal[i];
	}
}

unsigned int outside_signs(const struct outside_watch *watch, size_t i, uint64_t from, uint64_t to)
{
	unsigned int signs = watch->vm ? SIGN_VM : 0;
	const struct outside_look *before = NULL, *after = NULL;

	if (watch->cpus[i].slow != watch->cpus[i].slow_at_begin)
		signs |= SIGN_SLOWED;
	for (size_t l = 0; l < watch->n_looks; l++) {
		const struct outside_look *look = &watch->looks[l];

		if (look->time <= from)
			before = look;
		if (look->time >= to && !after)
			after = look;
	}
	if (!before || !after)
		return signs;
	/* Steal time is added up by the next tick, which may come after that look. */
	if (after < &watch->looks[watch->n_looks - 1])
		after++;
	if (after->steal[i] > before->steal[i])
		signs |= SIGN_STEAL;
	if (after->busy[i] > before->busy[i])
		signs |= SIGN_SIBLING;
	return signs;
}

uint64_t outside_steal_ns(const struct outside_watch *watch, size_t i)
{
	const struct outside_look *last = &watch->looks[watch->n_looks ? watch->n_looks - 1 : 0];
	uint64_t ticks = watch->n_looks && last->steal[i] > watch->cpus[i].steal_at_begin
	                         ? last->steal[i] - watch->cpus[i].steal_at_begin
	                         : 0;

	return ticks * 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
}

void outside_finish(struct outside_watch *watch)
{
	for (size_t i = 0; i < watch->n_cpus; i++) {
		struct outside_cpu *c = &watch->cpus[i];
		uint64_t now;

		c->has_smis = c->has_smis && read_smis(watch, c->cpu, &now);
		c->smis = c->has_smis ? now - c->smis_at_begin : 0;
	}
}

void outside_free(struct outside_watch *watch)
{
	for (size_t i = 0; i < OUTSIDE_LOOKS; i++) {
		free(watch->looks[i].steal);
		free(watch->looks[i].busy);
	}
	for (size_t i = 0; i < watch->n_cpus; i++)
		cpumask_free(&watch->cpus[i].siblings);
	free(watch->cpus);
	*watch = (struct outside_watch){ 0 };
}
