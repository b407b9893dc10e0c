/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "clock_line.h"

#include <string.h>

#define BEYOND_PART 1000 /* twice what the rate may be off by, to be safe */

void clock_line_add(struct clock_line *line, struct clock_point point)
{
	const struct clock_point *last = &line->points[line->n ? line->n - 1 : 0];

	if (line->n && (point.steps <= last->steps || point.ns <= last->ns))
		line->n = 0;
	/* Nothing is to be led on from two points that are too near to each other. */
	if (line->n > 1 && last->ns - last[-1].ns < CLOCK_LINE_LEAST_NS)
		line->n--;
	if (line->n == CLOCK_LINE) {
		memmove(line->points, line->points + 1, sizeof(line->points) - sizeof(point));
		line->n--;
	}
	line->points[line->n++] = point;
}

/* On the line through point i and the next. */
static uint64_t on_line(const struct clock_line *line, size_t i, uint64_t steps)
{
	const struct clock_point *a = &line->points[i], *b = a + 1;
	__int128 ns = (__int128)(int64_t)(steps - a->steps) * (int64_t)(b->ns - a->ns) /
	              (int64_t)(b->steps - a->steps);

	return a->ns + (uint64_t)(int64_t)ns;
}

/* How far the point after the next is from the line that begins at point i. */
static uint64_t bend(const struct clock_line *line, size_t i)
{
	const struct clock_point *c = &line->points[i + 2];
	int64_t off = (int64_t)(on_line(line, i, c->steps) - c->ns);

	return (uint64_t)(off < 0 ? -off : off);
}

bool clock_line_at(const struct clock_line *line, uint64_t steps, uint64_t *ns, uint64_t *off_ns)
{
	const struct clock_point *first = line->points, *last = first + line->n - 1;
	size_t i;

	if (line->n < 2)
		return false;
	for (i = line->n - 2; i && line->points[i].steps > steps;)
		i--;
	*ns = on_line(line, i, steps);
	*off_ns = on_line(line, i, line->points[i].steps + line->points[i].width) -
	          line->points[i].ns;
	if (i)
		*off_ns += bend(line, i - 1);
	else if (line->n > 2)
		*off_ns += bend(line, 0);
	if ((int64_t)(steps - first->steps) < 0)
		*off_ns += (first->ns - *ns) / BEYOND_PART;
	else if (steps > last->steps)
		*off_ns += (*ns - last->ns) / BEYOND_PART;
	return true;
}
