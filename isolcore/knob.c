/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "knob.h"
#include "cgroup_knobs.h"
#include "cgroup_tasks.h"
#include "irq.h"
#include "irqbalance.h"
#include "task_affinity.h"

static const struct knob_type *const knob_types[] = {
	&knob_text_file,    &knob_number_file,    &knob_cpulist_file,     &knob_cpuhex_file,
	&knob_irq_affinity, &knob_irqbalance,     &knob_task_affinity,    &knob_cgroup_dir,
	&knob_cpuset_cpus,  &knob_cpuset_balance, &knob_cpuset_partition, &knob_cgroup_controller,
	&knob_cgroup_type,  &knob_cgroup_evict,   &knob_task_mask,
};

static const char *const state_names[] = {
	[KNOB_PLANNED] = "planned", [KNOB_GRANTED] = "granted", [KNOB_PENDING] = "pending",
	[KNOB_REFUSED] = "refused", [KNOB_EXPOSED] = "exposed", [KNOB_UNAVAILABLE] = "unavailable",
};

static const char *const restored_names[] = {
	[RESTORE_NONE] = "none",       [RESTORE_DONE] = "restored",
	[RESTORE_FOREIGN] = "foreign", [RESTORE_HANDED_OVER] = "handed-over",
	[RESTORE_GONE] = "gone",       [RESTORE_FAILED] = "failed",
};

const char *knob_state_name(enum knob_state state)
{
	return state_names[state];
}

const char *knob_restored_name(enum knob_restored restored)
{
	return restored_names[restored];
}

const struct knob_type *knob_type_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(knob_types); i++)
		if (!strcmp(knob_types[i]->name, name))
			return knob_types[i];
	return NULL;
}

bool knob_same(const struct knob_type *type, const char *a, const char *b)
{
	if (!a || !b)
		return a == b;
	return type->same ? type->same(a, b) : !strcmp(a, b);
}

void knob_judge(struct knob *knob, enum knob_state state, const char *reason, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	xvreplace(&knob->detail, fmt, ap);
	va_end(ap);
	knob->state = state;
	knob->reason = reason;
}

void knob_free(struct knob *knob)
{
	free(knob->name);
	free(knob->path);
	free(knob->found);
	free(knob->wanted);
	free(knob->remedy);
	free(knob->detail);
	free(knob->granted);
	free(knob->observed);
	free(knob->restore_detail);
	free(knob);
}
