/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU lists as people write them, on the command line and in profiles: the only parser for them.
 * (What the kernel writes is read by cpumask_parse_list() and cpumask_parse_hex().)
 *
 * A list is made of pieces with commas between them; blanks around a piece are ignored:
 *
 *   3                a CPU; N is the highest online CPU, wherever a number may stand
 *   4-7, 4-N         a range
 *   0-31:2           every second CPU of a range, as taskset(1): 0,2,4,...
 *   0-31:2/8         the first 2 of every 8 CPUs of a range: 0-1,8-9,16-17,24-25. The kernel's
 *                    RANGE:USED/GROUP (Documentation/admin-guide/kernel-parameters.txt); note that
 *                    without /GROUP the number is a stride, and with it a count
 *   0x0c             a mask, of any length
 *   f,ffffffff       a mask as the kernel writes it. A piece of exactly eight hexadecimal digits is
 *                    never a CPU number: it continues the mask that the piece before it begins. So
 *                    "1,00000000" is CPU 32, and "0x3,7" is CPUs 0, 1 and 7
 *   all              the online CPUs
 *   isolated         those that isolcpus= (or nohz_full= with it) took out of the scheduling
 *                    domains at boot: /sys/devices/system/cpu/isolated
 *   nohz_full        /sys/devices/system/cpu/nohz_full
 *   housekeeping     the online CPUs that are in neither of the two
 *   node:1           the CPUs of a NUMA node
 *   siblings:3       CPU 3 and the CPUs that share its core
 *   !LIST            everything after the ! is taken away: from what stands before it, or from all
 *                    when nothing does. "0-7,!2,3" is 0-1,4-7; "!0" is all but CPU 0
 *
 * Words name online CPUs only, and of those the allowed ones. A number that is written must be of
 * an online CPU, unless it is taken away; the affinity mask that chisol inherited limits nothing.
 */
#ifndef ISOLCORE_CPULIST_H
#define ISOLCORE_CPULIST_H

#include "machine.h"

/*
 * allowed: the CPUs that may be named at all (NULL: every one), as where a container's cpuset ends.
 * The sentence shows the piece and the valid set, and the return value tells apart:
 * -EINVAL  not a CPU list, or it leaves no CPU
 * -ENXIO   a CPU (or node) that does not exist
 * -ENODEV  a CPU that is offline
 * -EPERM   a CPU that is not in allowed
 */
int cpulist_parse(struct cpumask *cpus, const char *text, const struct system *sys,
                  const struct cpumask *allowed, struct error *err);

#endif
