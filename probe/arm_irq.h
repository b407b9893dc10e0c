/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interrupts of arm64 that do not come as what they are: the CPU's own timer comes as a device
 * (irq_handler_entry), an interrupt from another CPU as a device and as an ipi_entry within it,
 * which tells its kind by the address of a text that tracefs knows (printk_formats).
 */
#ifndef PROBE_ARM_IRQ_H
#define PROBE_ARM_IRQ_H

#include "trace_format.h"

struct arm_irqs {
	struct arm_irq *irqs; /* that were seen not to be a device's, by number */
	size_t n_irqs, irqs_room;
	struct ipi_kind *kinds; /* by address */
	size_t n_kinds, kinds_room;
};

void arm_irqs_load(struct arm_irqs *a, const struct sysroot *tracefs);
void arm_irqs_free(struct arm_irqs *a);
/* Makes the event what it is. False: another event tells the same. */
bool arm_irqs_settle(struct arm_irqs *a, struct trace_event *event);

#endif
