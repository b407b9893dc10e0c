/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Device interrupts: all that user space can move is moved off the workload's CPUs, the others are
 * told as exposed. Documentation/core-api/irq/irq-affinity.rst.
 *
 * What is written and put back is the requested mask (/proc/irq/N/smp_affinity_list). Where the
 * interrupt really goes is effective_affinity_list, which on x86 follows with its next interrupt:
 * until then the setting is KNOB_PENDING.
 */
#ifndef ISOLCORE_IRQ_H
#define ISOLCORE_IRQ_H

#include "plan.h"

extern const struct knob_type knob_irq_affinity; /* "irq-affinity" */

/*
 * Finds interrupts that the plan does not know and that may go to the workload's CPUs, and adds
 * each to the plan as an exposed knob (REASON_NEW_IRQ). Returns how many were found. For the time
 * while the command runs: reads only, on the calling CPU.
 */
size_t irq_new_since(struct plan *plan, const struct system *sys, const struct request *req);

#endif
