/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmstat.h"

#include "text.h"

#include <limits.h>

#define STAT_INTERVAL "/proc/sys/vm/stat_interval"

static struct knob *find(const struct plan *plan, const char *path)
{
	plan_for_each (knob, plan)
		if (!strcmp(knob->path, path))
			return knob;
	return NULL;
}

struct knob *vmstat_interval(struct plan *plan, const struct system *sys, const struct request *req,
                             const struct facility *facility, enum policy policy)
{
	unsigned long long found;
	unsigned int asked = policy_asked(req->vmstat.policy) ? req->vmstat.stat_interval : 0;
	struct knob *knob = find(plan, STAT_INTERVAL);

	if (!knob) {
		knob = plan_add_read(plan, sys, facility, &knob_number_file, policy,
		                     "vmstat.stat_interval", STAT_INTERVAL, NULL,
		                     "the vmstat worker interrupts a busy CPU only this often");
		/* Never 0, which the kernel takes for "without any pause". */
		knob->wanted = xasprintf("%u", asked ? asked : VMSTAT_LONG_INTERVAL);
		if (!asked && knob->found && text_unsigned(knob->found, &found) &&
		    found > VMSTAT_LONG_INTERVAL && found <= INT_MAX)
			xreplace(&knob->wanted, knob->found);
	}
	if (policy > knob->policy)
		knob->policy = policy;
	return knob;
}

static int plan_vmstat(struct plan *plan, const struct system *sys, const struct request *req,
                       const char *run_id, struct error *err)
{
	enum policy policy = req->vmstat.policy;

	(void)run_id;
	(void)err;
	if (!policy_asked(policy))
		return 0;
	if (req->vmstat.stat_interval)
		vmstat_interval(plan, sys, req, &facility_vmstat, policy);
	if (req->vmstat.flush)
		plan_add_task(plan, &facility_vmstat, &vmstat_flush, policy, "vmstat.flush", "done",
		              "counters that are folded now cause no interruption later");
	return 0;
}

const struct facility facility_vmstat = {
	.name = "vmstat",
	.title = "memory statistics worker",
	.plan = plan_vmstat,
};
