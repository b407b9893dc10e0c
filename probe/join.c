/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "join.h"

struct join_break {
	struct isolation_break brk; /* parts owned */
	uint64_t latest;            /* end of this and all before */
	bool joined;
};

void join_init(struct join *join, const struct outside_watch *outside, size_t keep)
{
	*join = (struct join){ .outside = outside, .n_cpus = outside->n_cpus };
	join->cpus = xcalloc(join->n_cpus, sizeof(*join->cpus));
	for (size_t i = 0; i < join->n_cpus; i++) {
		struct join_cpu *c = &join->cpus[i];

		c->cpu = outside->cpus[i].cpu;
		c->threshold = c->open_since = UINT64_MAX;
		c->causes = xcalloc(n_causes, sizeof(*c->causes));
		c->outsides = xcalloc(n_outsides, sizeof(*c->outsides));
		c->over = xcalloc(n_causes, sizeof(*c->over));
		c->worst = (struct worst){ xcalloc(keep, sizeof(struct join_gap)),
			                   sizeof(struct join_gap), 0, (uint32_t)keep };
		c->first = xcalloc(keep, sizeof(*c->first));
		c->room_first = keep;
	}
}

struct join_cpu *join_cpu(const struct join *join, unsigned int cpu)
{
	for (size_t i = 0; i < join->n_cpus; i++)
		if (join->cpus[i].cpu == cpu)
			return &join->cpus[i];
	return NULL;
}

void join_loop_begins(struct join_cpu *c, uint64_t from)
{
	if (c->n_windows == JOIN_WINDOWS) {
		memmove(c->windows, c->windows + 1, sizeof(c->windows) - sizeof(*c->windows));
		c->n_windows--;
	}
	c->windows[c->n_windows++] = (struct join_window){ from, UINT64_MAX };
}

void join_loop_ends(struct join_cpu *c, uint64_t from, uint64_t until)
{
	for (size_t i = 0; i < c->n_windows; i++)
		if (c->windows[i].from == from)
			c->windows[i].until = until;
}

static bool in_window(const struct join_cpu *c, uint64_t from, uint64_t until)
{
	for (size_t i = 0; i < c->n_windows; i++)
		if (from > c->windows[i].from && until < c->windows[i].until)
			return true;
	return false;
}

static void count(struct join_count *count, uint64_t length)
{
	count->n++;
	count->total += length;
	if (length > count->longest)
		count->longest = length;
}

static uint64_t length_of(const struct part *part)
{
	return part->end - part->start;
}

static int by_end(const void *a, const void *b)
{
	const struct join_gap *x = a, *y = b;

	return (x->end > y->end) - (x->end < y->end);
}

/* They come in order, but for those of several threads. */
static void order_gaps(struct join_cpu *c)
{
	if (c->disordered)
		qsort(c->gaps, c->n_gaps, sizeof(*c->gaps), by_end);
	c->disordered = false;
}

/* The first gap that did not end before a time; they are in order. */
static size_t first_gap(const struct join_cpu *c, uint64_t time)
{
	size_t low = 0, high = c->n_gaps;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->gaps[middle].end < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Did the probe look at a gap when the break came, and not notice? */
static bool was_blind(const struct join_cpu *c, const struct isolation_break *brk)
{
	for (size_t i = first_gap(c, brk->start + c->off + 1); i; i--) {
		const struct join_gap *gap = &c->gaps[i - 1];

		if (gap->end <= brk->start + gap->off)
			return brk->start <= gap->end + gap->off + c->blind_ns;
	}
	return false;
}

/* Must there have been a gap here? Which of the program's threads ticks is not known, and one that
 * is moved away has its gap elsewhere. */
static bool is_over(const struct join_cpu *c, const struct isolation_break *brk)
{
	if (brk->by->own || brk->by->source == TRACE_MIGRATION)
		return false;
	for (size_t i = 0; i < brk->n_parts; i++)
		if (!brk->parts[i].depth && length_of(&brk->parts[i]) >= c->threshold)
			return true;
	return false;
}

/* The oldest break goes: was there a gap for it? */
static void drop_break(struct join_cpu *c, struct join_break *b)
{
	const struct isolation_break *brk = &b->brk;
	struct join_over *over = &c->over[brk->by->cause - causes];

	if (is_over(c, brk) && (b->joined || in_window(c, brk->start, brk->end))) {
		over->n++;
		over->joined += b->joined;
		c->blind += !b->joined && was_blind(c, brk);
	}
	free(b->brk.parts);
}

static void drop_breaks(struct join_cpu *c, uint64_t before, size_t most)
{
	size_t n = 0;

	order_gaps(c);
	for (; n < c->n_breaks && (c->breaks[n].latest < before || c->n_breaks - n > most); n++)
		drop_break(c, &c->breaks[n]);
	c->n_breaks -= n;
	if (n)
		memmove(c->breaks, c->breaks + n, c->n_breaks * sizeof(*c->breaks));
}

/* After drop_breaks(), which looks at the gaps. */
static void drop_gaps(struct join_cpu *c, uint64_t before)
{
	size_t n = 0;

	while (n < c->n_gaps && c->gaps[n].end < before && c->gaps[n].state == JOIN_SETTLED)
		n++;
	c->n_gaps -= n;
	if (n)
		memmove(c->gaps, c->gaps + n, c->n_gaps * sizeof(*c->gaps));
}

void join_break(struct join *join, const struct isolation_break *brk)
{
	struct join_cpu *c = join_cpu(join, brk->cpu);
	struct join_break *b;

	if (!c)
		return;
	if (c->n_breaks == JOIN_KEPT)
		drop_breaks(c, 0, JOIN_KEPT / 2);
	c->breaks = xgrow(c->breaks, c->n_breaks + 1, &c->breaks_room, sizeof(*c->breaks));
	b = &c->breaks[c->n_breaks];
	*b = (struct join_break){ .latest = brk->end };
	if (c->n_breaks && b[-1].latest > b->latest)
		b->latest = b[-1].latest;
	c->n_breaks++;
	break_copy(&b->brk, brk);
}

void join_gap(struct join *join, unsigned int cpu, const struct join_gap *gap)
{
	struct join_cpu *c = join_cpu(join, cpu);
	struct join_gap *added;

	if (!c)
		return;
	if (c->n_gaps == JOIN_KEPT) {
		c->lost++;
		return;
	}
	c->gaps = xgrow(c->gaps, c->n_gaps + 1, &c->gaps_room, sizeof(*c->gaps));
	added = &c->gaps[c->n_gaps++];
	*added = *gap;
	added->state = JOIN_NEW;
	c->disordered |= c->n_gaps > 1 && added[-1].end > added->end;
	if (gap->off > c->off)
		c->off = gap->off;
}

void join_lost(struct join *join, unsigned int cpu, uint64_t from, uint64_t until)
{
	struct join_cpu *c = join_cpu(join, cpu);

	if (!c)
		return;
	if (!c->lost_until || from > c->lost_until + JOIN_HOLD_NS)
		c->lost_from = from;
	c->lost_until = until;
}

static bool is_turn(const struct part *part)
{
	return part->source == TRACE_TASK || part->source == TRACE_SLEEP ||
	       part->source == TRACE_MIGRATION;
}

/* The kernel was entered and left within the gap; or there, if that was not seen in full. As the
 * loop ran when the gap began, a turn from before had ended, even if that was not seen. */
static bool is_in(const struct part *part, const struct join_gap *gap)
{
	uint64_t from = gap->start - gap->off, until = gap->end + gap->off;

	if (part->cut && (part->start >= from || !is_turn(part)))
		return part->end >= from && part->start <= until;
	return part->start >= from && part->end <= until;
}

/* The first break that did not end before a time. */
static size_t first_break(const struct join_cpu *c, uint64_t time)
{
	size_t low = 0, high = c->n_breaks;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->breaks[middle].latest < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Goes through the breaks that a gap may have to do with. */
static struct join_break *next_break(struct join_cpu *c, const struct join_gap *gap,
                                     const struct join_break *last)
{
	size_t i = last ? (size_t)(last - c->breaks) + 1 : first_break(c, gap->start - gap->off);

	return i < c->n_breaks && c->breaks[i].brk.start <= gap->end + gap->off ? &c->breaks[i]
	                                                                        : NULL;
}

#define for_each_break(b, c, gap) \
	for (struct join_break *b = next_break(c, gap, NULL); b; b = next_break(c, gap, b))

/* A part that was not seen in full may go beyond. */
static uint64_t length_within(const struct part *part, const struct join_gap *gap)
{
	uint64_t start = part->start > gap->start ? part->start : gap->start;
	uint64_t end = part->end < gap->end ? part->end : gap->end;

	return end > start ? end - start : 0;
}

/* What of the break is in the gap: the part that it is charged to, or the longest; NULL: nothing.
 * What was not kept of a long storm may have been. */
static const struct part *find_part(struct join_break *b, struct join_gap *gap, uint64_t threshold,
                                    uint64_t *entries)
{
	const struct isolation_break *brk = &b->brk;
	const struct part *found = NULL;

	for (size_t i = 0; i < brk->n_parts; i++) {
		const struct part *part = &brk->parts[i];

		if (part->depth || !is_in(part, gap))
			continue;
		gap->seen += length_within(part, gap);
		/* The thread waited on another CPU, or ran there, until it was back. */
		if (part->source == TRACE_MIGRATION && part->end < gap->end)
			gap->seen += gap->end - part->end;
		gap->turn |= is_turn(part) && !part->cut;
		*entries += 1;
		b->joined |= length_of(part) >= threshold;
		if (found != brk->by &&
		    (part == brk->by || !found || length_of(part) > length_of(found)))
			found = part;
	}
	if (!found && brk->omitted)
		found = brk->by;
	return found;
}

static void charge(const struct join *join, struct join_cpu *c, struct join_gap *gap)
{
	uint64_t entry = join->outside->vm ? JOIN_ENTRY_VM_NS : JOIN_ENTRY_NS, entries = 0;
	const struct part *longest = NULL;

	for_each_break(b, c, gap)
	{
		const struct part *part = find_part(b, gap, c->threshold, &entries);

		if (part && (!longest || length_of(part) > length_of(longest)))
			longest = part;
	}
	if (gap->seen > gap->length)
		gap->seen = gap->length;
	if (longest && gap->length - gap->seen <= gap->seen + entries * entry)
		gap->cause = longest->cause;
	gap->state = JOIN_CHARGED;
}

/* Has the CPU a gap at the same time? Its gaps do not overlap each other. */
static const struct join_gap *gap_during(const struct join_cpu *c, uint64_t from, uint64_t until)
{
	size_t i = first_gap(c, from);

	return i < c->n_gaps && c->gaps[i].start <= until ? &c->gaps[i] : NULL;
}

static void look_around(const struct join *join, struct join_cpu *c, struct join_gap *gap)
{
	size_t others = 0, unexplained = 0;

	for (size_t i = 0; i < join->n_cpus; i++) {
		const struct join_gap *other;

		if (&join->cpus[i] == c)
			continue;
		other = gap_during(&join->cpus[i], gap->start - gap->off, gap->end + gap->off);
		others += other != NULL;
		unexplained += other && other->state != JOIN_NEW && !other->cause;
	}
	c->together += others != 0;
	c->everywhere += others && others == join->n_cpus - 1;
	if (unexplained)
		gap->signs |= SIGN_TOGETHER;
	if (unexplained && unexplained == join->n_cpus - 1)
		gap->signs |= SIGN_EVERYWHERE;
}

/* Does more than one loop run on the CPU then? */
static bool is_shared(const struct join_cpu *c, const struct join_gap *gap)
{
	unsigned int n = 0;

	for (size_t i = 0; i < c->n_windows; i++)
		n += c->windows[i].from < gap->end && c->windows[i].until > gap->start;
	return n > 1;
}

static void find_outside(const struct join *join, const struct join_cpu *c, struct join_gap *gap)
{
	enum isolprobe_class what = gap->what;

	gap->signs |= outside_signs(join->outside, (size_t)(c - join->cpus), gap->start, gap->end);
	if (c->lost_until && gap->end >= c->lost_from && gap->start <= c->lost_until)
		gap->signs |= SIGN_LOST;
	if (is_shared(c, gap))
		gap->signs |= SIGN_SHARED;
	/* The switch is explained, and is not what took so long. */
	if (what == ISOLPROBE_SWITCHED && gap->turn)
		what = ISOLPROBE_INTERRUPT;
	/* An interrupt explains the work after it. */
	if (what == ISOLPROBE_RETURN && gap->seen)
		what = ISOLPROBE_INTERRUPT;
	gap->outside = outside_find(what, gap->signs);
}

/* A copy with what happened in the gap. */
static struct join_gap copy_gap(struct join_cpu *c, const struct join_gap *gap)
{
	struct join_gap copy = *gap;
	size_t room = 0;

	for_each_break(b, c, gap)
	{
		for (size_t i = 0; i < b->brk.n_parts; i++) {
			if (!is_in(&b->brk.parts[i], gap))
				continue;
			if (copy.n_parts == JOIN_PARTS)
				return copy;
			copy.parts =
				xgrow(copy.parts, copy.n_parts + 1, &room, sizeof(*copy.parts));
			copy.parts[copy.n_parts++] = b->brk.parts[i];
		}
	}
	return copy;
}

static void keep(struct join_cpu *c, const struct join_gap *gap)
{
	if (c->n_first < c->room_first)
		c->first[c->n_first++] = copy_gap(c, gap);
	if (worst_wants(&c->worst, gap->length)) {
		struct join_gap copy = copy_gap(c, gap), displaced;

		if (worst_add(&c->worst, &copy, &displaced))
			free(displaced.parts);
	}
}

static void settle(const struct join *join, struct join_cpu *c, struct join_gap *gap)
{
	look_around(join, c, gap);
	if (gap->cause) {
		count(&c->named, gap->length);
		count(&c->causes[gap->cause - causes], gap->length);
	} else {
		find_outside(join, c, gap);
		count(&c->outsides[gap->outside - outsides], gap->length);
	}
	count(&c->all, gap->length);
	c->seen += gap->seen;
	keep(c, gap);
	gap->state = JOIN_SETTLED;
}

static uint64_t before(uint64_t time, uint64_t ns)
{
	return time > ns ? time - ns : 0;
}

/* Those of which all breaks are there, or that have waited long enough. */
static void charge_gaps(const struct join *join, uint64_t horizon, uint64_t hold)
{
	for (size_t i = 0; i < join->n_cpus; i++) {
		struct join_cpu *c = &join->cpus[i];

		order_gaps(c);
		for (size_t g = 0; g < c->n_gaps; g++) {
			struct join_gap *gap = &c->gaps[g];
			uint64_t end = gap->end + gap->off;

			if (gap->state == JOIN_NEW && end < horizon &&
			    (end < c->open_since || end < hold))
				charge(join, c, gap);
		}
	}
}

static void settle_gaps(const struct join *join, uint64_t horizon, uint64_t hold)
{
	for (size_t i = 0; i < join->n_cpus; i++) {
		struct join_cpu *c = &join->cpus[i];

		for (size_t g = 0; g < c->n_gaps; g++)
			if (c->gaps[g].state == JOIN_CHARGED && c->gaps[g].end < horizon)
				settle(join, c, &c->gaps[g]);
	}
	for (size_t i = 0; i < join->n_cpus; i++) {
		drop_breaks(&join->cpus[i], hold, JOIN_KEPT);
		drop_gaps(&join->cpus[i], before(hold, JOIN_HOLD_NS));
	}
}

void join_settle(struct join *join, uint64_t horizon)
{
	uint64_t hold = before(horizon, JOIN_HOLD_NS);

	charge_gaps(join, before(horizon, 2ull * BREAK_JOIN_NS), hold);
	settle_gaps(join, before(horizon, JOIN_TOGETHER_NS), hold);
}

static int by_steps(const void *a, const void *b)
{
	const struct join_gap *x = a, *y = b;

	return (x->steps > y->steps) - (x->steps < y->steps);
}

void join_finish(struct join *join)
{
	charge_gaps(join, UINT64_MAX, UINT64_MAX);
	settle_gaps(join, UINT64_MAX, UINT64_MAX);
	for (size_t i = 0; i < join->n_cpus; i++) {
		struct join_cpu *c = &join->cpus[i];

		qsort(c->worst.elements, c->worst.n, sizeof(struct join_gap), by_steps);
		qsort(c->first, c->n_first, sizeof(struct join_gap), by_steps);
	}
}

const struct join_gap *join_find(const struct join_cpu *c, uint64_t steps)
{
	const struct join_gap wanted = { .steps = steps };
	const struct join_gap *found =
		bsearch(&wanted, c->worst.elements, c->worst.n, sizeof(wanted), by_steps);

	return found ? found : bsearch(&wanted, c->first, c->n_first, sizeof(wanted), by_steps);
}

static void free_kept(struct join_gap *gaps, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(gaps[i].parts);
	free(gaps);
}

void join_free(struct join *join)
{
	for (size_t i = 0; i < join->n_cpus; i++) {
		struct join_cpu *c = &join->cpus[i];

		free_kept(c->worst.elements, c->worst.n);
		free_kept(c->first, c->n_first);
		for (size_t b = 0; b < c->n_breaks; b++)
			free(c->breaks[b].brk.parts);
		free(c->breaks);
		free(c->gaps);
		free(c->causes);
		free(c->outsides);
		free(c->over);
	}
	free(join->cpus);
	*join = (struct join){ 0 };
}

/* The part that a gap is charged to: the longest of its cause. */
static const struct part *charged_part(const struct join_gap *gap)
{
	const struct part *found = NULL;

	for (size_t i = 0; i < gap->n_parts; i++)
		if (gap->parts[i].cause == gap->cause &&
		    (!found || length_of(&gap->parts[i]) > length_of(found)))
			found = &gap->parts[i];
	return found;
}

char *join_words(const struct join_gap *gap)
{
	const struct part *part = charged_part(gap);
	size_t more = gap->n_parts - (part != NULL);
	char *text = xstrdup(gap->cause ? gap->cause->code : gap->outside->code);

	if (part && part->source == TRACE_TASK)
		xappend(&text, " %s (%d)", part->text, (int)part->pid);
	else if (part && *part->text)
		xappend(&text, " %s", part->text);
	if (more)
		xappend(&text, " and %zu %sevent%s", more, part ? "more " : "",
		        more == 1 ? "" : "s");
	return text;
}

static void add(struct join_count *sum, const struct join_count *one)
{
	sum->n += one->n;
	sum->total += one->total;
	if (one->longest > sum->longest)
		sum->longest = one->longest;
}

struct join_count join_kernels(const struct join_cpu *c)
{
	struct join_count sum = c->named;

	for (size_t i = 0; i < n_outsides; i++)
		if (outsides[i].kernel)
			add(&sum, &c->outsides[i]);
	return sum;
}

struct join_count join_foreign(const struct join_cpu *c)
{
	struct join_count sum = { 0 };

	for (size_t i = 0; i < n_outsides; i++)
		if (!outsides[i].kernel)
			add(&sum, &c->outsides[i]);
	return sum;
}

double join_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 100;
}

struct join_over join_over(const struct join_cpu *c)
{
	struct join_over sum = { 0 };

	for (size_t i = 0; i < n_causes; i++) {
		sum.n += c->over[i].n;
		sum.joined += c->over[i].joined;
	}
	return sum;
}
