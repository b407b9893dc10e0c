/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "facility.h"

/*
 * The order of effects. irqbalance is told first, or it would move back what irq moves away. The
 * cgroup comes last: once the CPUs are in an isolated partition, some of the other settings are
 * refused for them (the fair server's is, on 6.12). Task isolation, which writes no file of a CPU,
 * looks at what the cgroup plans.
 */
const struct facility *const facility_table[] = {
	&facility_irqbalance, &facility_irq,
	&facility_kthreads,   &facility_vmstat,
	&facility_scheduler,  &facility_cgroup,
	&facility_affinity,   &facility_task_isolation,
	&facility_user,       NULL,
};
