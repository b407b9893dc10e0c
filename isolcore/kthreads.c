/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel threads that are bound to no CPU. nohz_full= and isolcpus= keep most of them off the CPUs,
 * but kcompactd and kswapd have all CPUs of their node. Those that are bound to their CPUs
 * (PF_NO_SETAFFINITY) are left: nobody can move them. Threads of interrupts are irq.c's.
 */
#include "facility.h"
#include "task_affinity.h"

#include <fnmatch.h>

static bool is_movable(const struct process *thread)
{
	return (thread->flags & PROCESS_KTHREAD) && !(thread->flags & PROCESS_NO_SETAFFINITY) &&
	       fnmatch("irq/*", thread->comm, 0) != 0;
}

static void plan_thread(struct plan *plan, const struct system *sys, const struct request *req,
                        pid_t pid)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	_cleanup_free_ char *name = NULL, *path = NULL, *found = NULL, *wanted = NULL;
	struct process thread;
	struct knob *knob;

	if (process_read(&thread, &sys->root, pid, NULL) || !is_movable(&thread) ||
	    task_affinity_read(&cpus, sys, pid, NULL) ||
	    !cpumask_intersects(&cpus, &req->cpus.workload))
		return;
	found = cpumask_list(&cpus);
	cpumask_and(&cpus, &req->cpus.housekeeping);
	wanted = cpumask_list(cpumask_empty(&cpus) ? &req->cpus.housekeeping : &cpus);
	name = xasprintf("kthreads.%d.%s", (int)pid, thread.comm);
	path = task_affinity_path(&thread);
	knob = plan_add(plan, &facility_kthreads, &knob_task_affinity, req->kthreads.policy, name,
	                path, found, wanted, "keeps kernel threads off the workload's CPUs");
	knob->avoid = &req->cpus.workload;
}

static int plan_kthreads(struct plan *plan, const struct system *sys, const struct request *req,
                         const char *run_id, struct error *err)
{
	_cleanup_pids_ struct pids pids = { 0 };
	int rc;

	(void)run_id;
	if (!policy_asked(req->kthreads.policy) || !req->kthreads.move)
		return 0;
	rc = process_find(&pids, &sys->root, "*", err);
	for (size_t i = 0; !rc && i < pids.n; i++)
		plan_thread(plan, sys, req, pids.pids[i]);
	return rc;
}

const struct facility facility_kthreads = {
	.name = "kthreads",
	.title = "kernel threads",
	.plan = plan_kthreads,
};
