/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fair server (Linux 6.12) is what lets ordinary tasks run beside realtime ones. It works with
 * a timer that on a nohz_full CPU with a single ordinary task costs a tick, a reschedule and a call
 * once a second. A runtime of 0 turns it off for a CPU (kernel/sched/debug.c,
 * sched_fair_server_write()). The write is refused with EBUSY where the bandwidth of the CPU's root
 * domain would be exceeded (__dl_overflow()): that of an isolated partition has none to give.
 *
 * Linux 6.12.117 may find fault with itself when that is written, also on an idle CPU, and logs a
 * warning, once (task_non_contending()). It goes on; but not if it is told to panic.
 */
#include "facility.h"

#define PANIC_ON_WARN "/proc/sys/kernel/panic_on_warn"
#define SERVER_DIR    "/sys/kernel/debug/sched/fair_server"

static bool panics_on_warning(const struct system *sys)
{
	_cleanup_free_ char *value = NULL;

	return !sysroot_read(&sys->root, PANIC_ON_WARN, &value, NULL) && strcmp(value, "0") != 0;
}

static void plan_cpu(struct plan *plan, const struct system *sys, const struct request *req,
                     unsigned int cpu)
{
	_cleanup_free_ char *name = xasprintf("scheduler.fair_server.%u", cpu),
			    *path = xasprintf(SERVER_DIR "/cpu%u/runtime", cpu);
	struct knob *knob = plan_add_read(plan, sys, &facility_scheduler, &knob_number_file,
	                                  req->scheduler.policy, name, path, "0",
	                                  "its timer interrupts the CPU once a second");

	xreplace(&knob->remedy,
	         knob->found ? "EBUSY: the kernel's account of deadline bandwidth for the CPU does "
	                       "not add up, as for one that is in a partition already; it goes by "
	                       "none while kernel.sched_rt_runtime_us is -1"
	                     : "mount debugfs: mount -t debugfs debugfs /sys/kernel/debug");
	if (!knob->found || !panics_on_warning(sys))
		return;
	knob_judge(knob, KNOB_REFUSED, REASON_KERNEL_DEFECT,
	           "Linux 6.12 may log a warning of its own when the fair server is changed, and "
	           "would panic: " PANIC_ON_WARN " is not 0");
	xreplace(&knob->remedy, NULL);
}

static int plan_scheduler(struct plan *plan, const struct system *sys, const struct request *req,
                          const char *run_id, struct error *err)
{
	(void)run_id;
	(void)err;
	if (!policy_asked(req->scheduler.policy) || req->scheduler.fair_server == FAIR_SERVER_KEEP)
		return 0;
	/* Before, there is nothing to turn off. */
	if (!machine_kernel_at_least(&sys->machine, 6, 12) &&
	    !sysroot_exists(&sys->root, SERVER_DIR))
		return 0;
	cpumask_for_each (cpu, &req->cpus.workload)
		plan_cpu(plan, sys, req, (unsigned int)cpu);
	return 0;
}

const struct facility facility_scheduler = {
	.name = "scheduler",
	.title = "scheduler",
	.plan = plan_scheduler,
};
