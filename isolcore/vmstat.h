/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel folds per-CPU memory statistics into global ones by a worker that interrupts a busy
 * CPU once per vm.stat_interval (Documentation/admin-guide/sysctl/vm.rst). Without a patched kernel
 * there are two things against it: make it rarer, and use CPUs that the kernel keeps it off.
 */
#ifndef ISOLCORE_VMSTAT_H
#define ISOLCORE_VMSTAT_H

#include "facility.h"

/* Seconds, for the length of the run, if no profile names a value. The kernel's default is 1. The
 * kernel looks at the value when its timer fires next, so that each change counts from then on. */
#define VMSTAT_LONG_INTERVAL 120u

/*
 * The plan's only knob for vm.stat_interval, whoever asks first: for the others its policy becomes
 * the stronger one. Without a value in the profile the interval never becomes shorter than found.
 */
struct knob *vmstat_interval(struct plan *plan, const struct system *sys, const struct request *req,
                             const struct facility *facility, enum policy policy);

/* vmstat_flush.c: one write to vm.stat_refresh (Linux 4.7) before the command starts. It makes
 * every CPU of the machine fold its counters once, so it disturbs whoever runs there. */
extern const struct task_op vmstat_flush;

/*
 * vmstat_spared.c: adds the CPUs that the kernel keeps the worker off: since Linux 6.5 those
 * isolated at boot (isolcpus= or nohz_full=), since 6.8 also those in isolated cpuset partitions.
 * Before 7.0 a worker that is queued when a partition is made goes on until an interval passes
 * without a change of the CPU's counters.
 */
int vmstat_spared_cpus(const struct system *sys, struct cpumask *cpus, struct error *err);
bool vmstat_spares_boot_isolated(const struct machine *machine);
bool vmstat_spares_partitions(const struct machine *machine);

#endif
