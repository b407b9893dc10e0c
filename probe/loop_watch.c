/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "loop_watch.h"

#include "../isolcore/process.h"
#include "figures.h"
#include "tick_slot.h"

void loop_watch_open(struct loop_watch *lw, const struct system *sys,
                     const struct record_keep *record, struct trace_watch *watch,
                     const struct cpumask *cpus, size_t keep)
{
	*lw = (struct loop_watch){ .keep = record, .sys = sys, .joins = watch };
	if (!watch)
		return;
	gap_watch_open(&lw->gaps, watch, cpus, keep);
	gap_watch_point(&lw->gaps);
}

static struct tick_slot *slot_of(const struct loop_watch *lw, unsigned int i)
{
	return (struct tick_slot *)(void *)((char *)lw->keep->record + TICK_SLOTS_AT +
	                                    i * TICK_SLOT_SIZE);
}

static struct loop *find_loop(const struct loop_watch *lw, unsigned int slot, uint32_t round)
{
	for (size_t i = lw->n_loops; i; i--)
		if (lw->loops[i - 1].slot == slot && lw->loops[i - 1].round == round)
			return &lw->loops[i - 1];
	return NULL;
}

static void set_began(const struct loop_watch *lw, struct loop *loop, uint64_t begin)
{
	uint64_t off;

	/* What cannot be is now: only what the command says of itself depends on it. */
	if (!lw->joins || !clock_line_at(&lw->gaps.line, begin, &loop->began, &off) ||
	    loop->began > monotonic_ns())
		loop->began = monotonic_ns();
}

static void add_loop(struct loop_watch *lw, unsigned int slot, const struct record_tick *t)
{
	const struct tick_record *r = &slot_of(lw, slot)->record;
	struct process process;
	struct join_cpu *c;
	struct loop *loop;

	lw->loops = xgrow(lw->loops, lw->n_loops + 1, &lw->room, sizeof(*lw->loops));
	loop = &lw->loops[lw->n_loops++];
	*loop = (struct loop){ .slot = slot, .round = t->round, .tid = (pid_t)t->tid };
	loop->feed.ring = &slot_of(lw, slot)->ring;
	loop->feed.begin = r->begin_point;
	set_began(lw, loop, r->begin_point.steps);
	if (!process_read(&process, &lw->sys->root, loop->tid, NULL)) {
		snprintf(loop->name, sizeof(loop->name), "%.15s", process.comm);
		loop->start_time = process.start_time;
	}
	if (!lw->joins)
		return;
	c = join_cpu(&lw->gaps.join, r->cpu);
	if (c)
		join_loop_begins(c, loop->began);
	/* Events up to the horizon have been counted. */
	if (lw->n_loops == 1)
		trace_watch_restart(lw->gaps.watch, loop->began > lw->gaps.horizon
		                                            ? loop->began
		                                            : lw->gaps.horizon);
}

/* One too many: its slot is free again when it has ended. */
static void skip_loop(struct loop_watch *lw, unsigned int slot, uint32_t round)
{
	struct record_tick *shared = &lw->keep->record->ticks[slot];

	lw->omitted += shared->collected != round;
	__atomic_store_n(&shared->collected, round, __ATOMIC_RELEASE);
}

static void find_loops(struct loop_watch *lw)
{
	for (unsigned int i = 0; i < RECORD_TICKS; i++) {
		struct record_tick *shared = &lw->keep->record->ticks[i], t;

		t.state = __atomic_load_n(&shared->state, __ATOMIC_ACQUIRE);
		t.round = __atomic_load_n(&shared->round, __ATOMIC_RELAXED);
		t.tid = __atomic_load_n(&shared->tid, __ATOMIC_RELAXED);
		if (t.state < RECORD_TICK_RUNS || t.state > RECORD_TICK_LEFT ||
		    find_loop(lw, i, t.round))
			continue;
		if (lw->n_loops < LOOPS_MAX)
			add_loop(lw, i, &t);
		else
			skip_loop(lw, i, t.round);
	}
}

/* A copy without pointers; or NULL, if it would lead astray who calculates with it. */
static struct tick_record *copy_record(const struct tick_record *shared)
{
	static struct rseq_area some; /* not to be looked at */
	struct tick_record *r = xcalloc(1, sizeof(*r));

	memcpy(r, shared, sizeof(*r));
	r->worst = (struct worst){ 0 };
	r->first = NULL;
	r->lists = NULL;
	r->claim = NULL;
	r->rings[0] = r->rings[1] = NULL;
	r->n_first = r->room_first = r->n_learnt = 0;
	r->rseq = r->rseq ? &some : NULL;
	if (r->scale.mult && r->scale.shift < 64 && r->stage <= TICK_MEASURES)
		return r;
	free(r);
	return NULL;
}

static void end_window(const struct loop_watch *lw, const struct loop *loop)
{
	const struct tick_record *r = loop->record;
	struct join_cpu *c = join_cpu(&lw->gaps.join, r->cpu);
	uint64_t end = loop->feed.last_end, off;

	/* If it did not come to its end, nobody knows of more than its last gap. */
	if (loop->ended)
		clock_line_at(&lw->gaps.line, r->end, &end, &off);
	if (c)
		join_loop_ends(c, loop->began, end);
}

/* All that there will be of the loop, which has ended in one way or the other. */
static void collect(struct loop_watch *lw, struct loop *loop)
{
	struct record_tick *shared = &lw->keep->record->ticks[loop->slot];

	loop->record = copy_record(&slot_of(lw, loop->slot)->record);
	loop->collected = true;
	if (loop->record && !loop->ended)
		loop->record->end = clock_now().steps;
	if (loop->record && lw->joins)
		end_window(lw, loop);
	__atomic_store_n(&shared->collected, loop->round, __ATOMIC_RELEASE);
}

static bool is_running(const struct loop_watch *lw, const struct loop *loop)
{
	const struct record_tick *shared = &lw->keep->record->ticks[loop->slot];
	uint32_t state = __atomic_load_n(&shared->state, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&shared->round, __ATOMIC_RELAXED) == loop->round &&
	       state == RECORD_TICK_RUNS;
}

/* A thread that exits without isolprobe_end() leaves its slot as it is, for nobody to have: it is
 * given back in its place. */
static void leave_slot(const struct loop_watch *lw, const struct loop *loop)
{
	struct record_tick *shared = &lw->keep->record->ticks[loop->slot];
	uint32_t runs = RECORD_TICK_RUNS;

	if (__atomic_load_n(&shared->round, __ATOMIC_RELAXED) == loop->round)
		__atomic_compare_exchange_n(&shared->state, &runs, RECORD_TICK_LEFT, false,
		                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void read_loops(struct loop_watch *lw, bool last)
{
	for (size_t i = 0; i < lw->n_loops; i++) {
		struct loop *loop = &lw->loops[i];
		bool runs, gone;

		if (loop->collected)
			continue;
		runs = is_running(lw, loop);
		gone = runs && !process_alive(&lw->sys->root, loop->tid, loop->start_time);
		if (lw->joins)
			gap_watch_feed(&lw->gaps, &loop->feed);
		loop->ended = !runs;
		/* A gap that is later than the last point stays for the next look. */
		if (last || ((!runs || gone) &&
		             (!lw->joins || gap_ring_empty(loop->feed.ring, &loop->feed.reader))))
			collect(lw, loop);
		if (loop->collected && gone)
			leave_slot(lw, loop);
	}
}

void loop_watch_read(struct loop_watch *lw)
{
	if (lw->joins)
		gap_watch_point(&lw->gaps);
	find_loops(lw);
	if (lw->joins)
		gap_watch_events(&lw->gaps);
	read_loops(lw, false);
	if (lw->joins)
		gap_watch_join(&lw->gaps);
}

/* What the verdict is to know: a gap is one, whoever took the time. */
static void tell_watch(const struct loop_watch *lw)
{
	for (size_t i = 0; i < lw->gaps.join.n_cpus; i++) {
		const struct join_cpu *c = &lw->gaps.join.cpus[i];
		struct watched_cpu *w = &lw->gaps.watch->cpus[i];

		w->loop_longest = join_foreign(c).longest;
		for (size_t k = 0; k < n_causes; k++)
			if (!causes[k].self && c->causes[k].longest > w->loop_longest)
				w->loop_longest = c->causes[k].longest;
		for (size_t k = 0; k < n_outsides; k++) {
			if (!outsides[k].unseen)
				continue;
			w->loop_unseen += c->outsides[k].n;
			if (c->outsides[k].longest > w->loop_longest)
				w->loop_longest = c->outsides[k].longest;
		}
	}
}

static void tell_blind(struct watched_cpu *cpu, const struct tick_record *record)
{
	struct figures f;

	figures_make(&f, record, cpu->cpu);
	if (1 - f.coverage > cpu->loop_blind)
		cpu->loop_blind = 1 - f.coverage;
}

void loop_watch_finish(struct loop_watch *lw, uint64_t time)
{
	if (lw->joins)
		gap_watch_point(&lw->gaps);
	find_loops(lw);
	if (lw->joins)
		gap_watch_last_events(&lw->gaps, time);
	read_loops(lw, true);
	if (!lw->joins)
		return;
	for (size_t i = 0; i < lw->n_loops; i++) {
		const struct loop *loop = &lw->loops[i];
		struct join_cpu *c =
			loop->record ? join_cpu(&lw->gaps.join, loop->record->cpu) : NULL;

		if (!c)
			continue;
		c->lost += loop->feed.lost;
		tell_blind(&lw->gaps.watch->cpus[c - lw->gaps.join.cpus], loop->record);
	}
	gap_watch_finish(&lw->gaps);
	tell_watch(lw);
}

uint64_t loop_watch_omitted(const struct loop_watch *lw)
{
	return lw->omitted + __atomic_load_n(&lw->keep->record->ticks_omitted, __ATOMIC_RELAXED);
}

void loop_watch_free(struct loop_watch *lw)
{
	for (size_t i = 0; i < lw->n_loops; i++)
		free(lw->loops[i].record);
	free(lw->loops);
	if (lw->joins)
		gap_watch_free(&lw->gaps);
	*lw = (struct loop_watch){ 0 };
}
