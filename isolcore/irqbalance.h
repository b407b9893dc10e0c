/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * irqbalance, when it runs, would move interrupts onto the workload's CPUs: it knows of isolcpus
 * and nohz_full, not of cpusets. It is told through its socket which CPUs it may not use
 * (irqbalance(1), API; 1.2.0 and later, built with its user interface). It is never
 * restarted, and none of its files is edited.
 *
 * The knob's path is /run/irqbalance/irqbalancePID.sock and its value the list of CPUs that
 * irqbalance leaves alone.
 *
 * irqbalance takes a new list over with its next scan, up to twice its interval later, and shows
 * the old one until then. It does so before that scan moves anything, so nobody has to wait for it.
 * But what is being taken over has to be known, or a run that ends (or begins) in that time would
 * take the old list for the present state. So what it was told last is kept in STATE_DIR/irqbalance
 * ("PID STARTTIME INTERVAL WHEN LIST") and is what the knob reads until the time is over.
 */
#ifndef ISOLCORE_IRQBALANCE_H
#define ISOLCORE_IRQBALANCE_H

#include "knob.h"

extern const struct knob_type knob_irqbalance; /* "irqbalance" */

#endif
