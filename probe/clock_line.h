/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CLOCK_MONOTONIC at a value of the counter, while a run goes on: the line between the two points
 * around it. One line for a whole run would not do, as the kernel speeds CLOCK_MONOTONIC up and
 * slows it down after NTP (adjtimex(2): by up to 500 ppm, 0.5 ms in a second).
 */
#ifndef PROBE_CLOCK_LINE_H
#define PROBE_CLOCK_LINE_H

#include "clock.h"

#define CLOCK_LINE          64 /* points that are kept, the latest */
#define CLOCK_LINE_LEAST_NS 10000000u

struct clock_line {
	struct clock_point points[CLOCK_LINE];
	size_t n;
};

/* A point after the last. The last but one goes if it is nearer than CLOCK_LINE_LEAST_NS. One that
 * is not, as after a jump of the counter, begins a new line. */
void clock_line_add(struct clock_line *line, struct clock_point point);

/*
 * off_ns: what the time may be off by. Between two points that is at most how far the second is
 * from where the line before would have led, if the rate changed once between them; before the
 * first point and after the last, a thousandth of the way there is added.
 * False, and nothing told: there are less than two points.
 */
bool clock_line_at(const struct clock_line *line, uint64_t steps, uint64_t *ns, uint64_t *off_ns);

#endif
