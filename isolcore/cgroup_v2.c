/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgroup_plan.h"

int cgroup_plan_v2(const struct cgroup_planner *p, struct error *err)
{
	(void)err;
	cgroup_refuse(p, REASON_ABSENT, NULL, "cgroup v2 is not planned yet");
	return 0;
}
