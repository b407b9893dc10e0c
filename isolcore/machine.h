/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this machine is, read once at start: its kernel, its CPUs, and how they were isolated at
 * boot. Nothing here changes during a run; what can change is a knob.
 */
#ifndef ISOLCORE_MACHINE_H
#define ISOLCORE_MACHINE_H

#include "cpumask.h"
#include "sysroot.h"

struct machine {
	char *release; /* /proc/sys/kernel/osrelease */
	unsigned int kernel_major, kernel_minor;
	char *arch;     /* uname -m; "" for a recorded tree without /proc/sys/kernel/arch (6.1) */
	char *hostname; /* /proc/sys/kernel/hostname */
	char *boot_id;  /* /proc/sys/kernel/random/boot_id */
	char *cmdline;  /* /proc/cmdline, for messages only; the /sys files tell what took effect */
	/* /sys/devices/system/cpu/{possible,present,online,isolated,nohz_full} */
	struct cpumask possible, present, online, isolated, nohz_full;
	bool has_nohz_full; /* the file is there: CONFIG_NO_HZ_FULL */
};

/* A root and the machine found under it: what every facility is given. */
struct system {
	struct sysroot root;
	struct machine machine;
};

#define SYSTEM_INIT           \
	{                     \
		SYSROOT_INIT, \
		{             \
			0     \
		}             \
	}

int system_open(struct system *sys, const char *dir, struct error *err);
void system_close(struct system *sys);
#define _cleanup_system_ _cleanup_(system_close)

/* Is the kernel at least major.minor? */
bool machine_kernel_at_least(const struct machine *m, unsigned int major, unsigned int minor);

/* The online CPUs that nothing took out at boot: neither isolated nor nohz_full. */
void machine_housekeeping(struct cpumask *cpus, const struct machine *m);

/* Are all of the CPUs offline now? Read anew: machine.online is of the start. */
bool system_all_offline(const struct system *sys, const struct cpumask *cpus);

/* CPUs of one NUMA node, and the SMT siblings of a CPU (itself included), from /sys; -ENOENT if
 * there is no such node or CPU. */
int system_node_cpus(const struct system *sys, unsigned int node, struct cpumask *cpus,
                     struct error *err);
int system_siblings(const struct system *sys, unsigned int cpu, struct cpumask *cpus,
                    struct error *err);
/* The other online CPUs that share a core with some of cpus. mates is empty before. */
void system_core_mates(const struct system *sys, const struct cpumask *cpus, struct cpumask *mates);

#endif
