/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "break.h"

#define STATE_PREEMPTED 0x100u /* TASK_REPORT_MAX: preempted in the kernel, and not asleep */
#define STATE_ENDED     0x30u  /* EXIT_DEAD, EXIT_ZOMBIE: it will not be back */

void break_tracker_init(struct break_tracker *t, unsigned int cpu, const struct break_env *env)
{
	*t = (struct break_tracker){ .env = env, .cpu = cpu, .current = -1 };
}

static bool is_own(const struct break_tracker *t, pid_t tid)
{
	return t->env->is_own(t->env->ctx, tid);
}

static bool is_turn(const struct part *part)
{
	return part->source == TRACE_TASK || part->source == TRACE_SLEEP ||
	       part->source == TRACE_MIGRATION;
}

/* Does a break go rather to a than to b, which began earlier? */
static bool outranks(const struct part *a, const struct part *b)
{
	if (is_turn(a) != is_turn(b))
		return is_turn(a);
	if (is_turn(a) && (a->source != TRACE_TASK || b->source != TRACE_TASK))
		return a->source != TRACE_TASK && b->source == TRACE_TASK;
	if (is_turn(a))
		return a->end - a->start > b->end - b->start;
	return b->self && !a->self;
}

static int by_start(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (int)x->depth - (int)y->depth;
}

void break_copy(struct isolation_break *to, const struct isolation_break *from)
{
	*to = *from;
	to->parts = xcalloc(from->n_parts, sizeof(*from->parts));
	memcpy(to->parts, from->parts, from->n_parts * sizeof(*from->parts));
	to->by = to->parts + (from->by - from->parts);
}

/* The thread came back from the kernel, or has ended there. */
static void end_stay(struct break_tracker *t, bool ended)
{
	for (size_t i = 0; i < t->n_held; i++) {
		t->held[i].ending = ended;
		t->env->on_break(t->env->ctx, &t->held[i]);
		free(t->held[i].parts);
	}
	t->n_held = 0;
	t->stay = 0;
}

static void tell_break(struct break_tracker *t, const struct isolation_break *brk)
{
	if (t->n_held == BREAK_HELD)
		end_stay(t, false);
	if (!t->stay || brk->start < t->stay) {
		t->env->on_break(t->env->ctx, brk);
		return;
	}
	t->held = xgrow(t->held, t->n_held + 1, &t->held_room, sizeof(*t->held));
	break_copy(&t->held[t->n_held++], brk);
}

static void finish_break(struct break_tracker *t)
{
	struct isolation_break brk = { .cpu = t->cpu,
		                       .start = t->start,
		                       .end = t->end,
		                       .parts = t->parts,
		                       .n_parts = t->n_parts,
		                       .omitted = t->omitted,
		                       .cut = t->cut };

	if (t->open && t->n_parts) {
		qsort(t->parts, t->n_parts, sizeof(*t->parts), by_start);
		for (size_t i = 0; i < t->n_parts; i++)
			if (!t->parts[i].depth && (!brk.by || outranks(&t->parts[i], brk.by)))
				brk.by = &t->parts[i];
		if (brk.by)
			tell_break(t, &brk);
	}
	t->open = t->cut = false;
	t->n_parts = t->omitted = 0;
}

/* The parts of the outermost level come late, and decide: there is always room for the longest. */
static void keep_part(struct break_tracker *t, const struct part *part)
{
	size_t reserve = part->depth ? BREAK_PARTS / 4 : 0;
	struct part *shortest = NULL;

	if (t->n_parts + reserve < BREAK_PARTS) {
		t->parts[t->n_parts++] = *part;
		return;
	}
	t->omitted++;
	for (size_t i = 0; i < t->n_parts && !part->depth; i++)
		if (!shortest ||
		    t->parts[i].end - t->parts[i].start < shortest->end - shortest->start)
			shortest = &t->parts[i];
	if (shortest && part->end - part->start > shortest->end - shortest->start)
		*shortest = *part;
}

static void add_part(struct break_tracker *t, struct part *part)
{
	cause_find(part, t->env->symbols);
	t->env->on_part(t->env->ctx, t->cpu, part);
	if (!t->open)
		return;
	t->cut |= part->cut;
	keep_part(t, part);
	if (part->end > t->end)
		t->end = part->end;
}

/* Something begins: a new break, or more of the one that has just ended. */
static void begin(struct break_tracker *t, uint64_t time)
{
	if (t->n_frames)
		return;
	if (t->open && time > t->end + BREAK_JOIN_NS)
		finish_break(t);
	if (t->open || t->state != BREAK_ON)
		return;
	t->open = true;
	t->start = t->end = time;
}

static void close_frame(struct break_tracker *t, uint64_t time, bool cut)
{
	struct part *part = &t->frames[--t->n_frames];

	part->end = time;
	part->cut |= cut;
	add_part(t, part);
	if (t->n_frames)
		t->latest[t->n_frames - 1] = time;
}

static struct part *open_frame(struct break_tracker *t, struct part part)
{
	/* Deeper than any kernel goes: ends were missed. */
	if (t->n_frames == BREAK_DEPTH)
		close_frame(t, t->latest[BREAK_DEPTH - 1], true);
	begin(t, part.start);
	part.depth = t->n_frames;
	t->latest[t->n_frames] = part.start;
	t->frames[t->n_frames] = part;
	return &t->frames[t->n_frames++];
}

/* One interrupt may bring functions from several; a foreign one counts. */
static void add_sender(const struct break_tracker *t, struct part *part, pid_t sender,
                       unsigned int cpu)
{
	bool own = is_own(t, sender);

	part->shared |= part->has_sender && own != part->own_sender;
	if (part->has_sender && (own || !part->own_sender))
		return;
	part->has_sender = true;
	part->own_sender = own;
	part->sender = sender;
	part->sender_cpu = cpu;
	t->env->task_name(t->env->ctx, part->sender, part->sender_name);
}

static void add_point(struct break_tracker *t, const struct trace_event *event)
{
	struct part part = { .source = event->source,
		             .start = event->time - event->length,
		             .end = event->time,
		             .number = event->number,
		             .functions = { event->function } };

	if (event->has_sender)
		add_sender(t, &part, event->sender, event->sender_cpu);
	begin(t, part.start);
	part.depth = t->n_frames;
	if (t->n_frames)
		t->latest[t->n_frames - 1] = event->time;
	add_part(t, &part);
}

static void enter(struct break_tracker *t, const struct trace_event *event)
{
	struct part part = { .source = event->source,
		             .start = event->time,
		             .number = event->number,
		             .functions = { event->function } };

	/* No interrupt comes within itself: its end was missed. */
	if (t->n_frames && t->frames[t->n_frames - 1].source == event->source &&
	    t->frames[t->n_frames - 1].number == event->number)
		close_frame(t, t->latest[t->n_frames - 1], true);
	if (event->source == TRACE_KERNEL) {
		end_stay(t, false);
		t->stay = is_own(t, event->pid) ? event->time : 0;
	}
	/* What the command asked for and what came in between are told apart by the latter. */
	if (event->source != TRACE_KERNEL && t->n_frames == 1 &&
	    t->frames[0].source == TRACE_KERNEL) {
		t->n_frames = 0;
		t->open &= t->n_parts != 0;
	}
	snprintf(part.text, sizeof(part.text), "%s",
	         event->source == TRACE_SOFTIRQ ? softirq_name(event->number) : event->text);
	if (event->has_sender)
		add_sender(t, &part, event->sender, event->sender_cpu);
	if (event->has_other_sender)
		add_sender(t, &part, event->other_sender, event->other_sender_cpu);
	open_frame(t, part);
}

static void leave(struct break_tracker *t, const struct trace_event *event)
{
	unsigned int i = t->n_frames;

	if (event->source == TRACE_KERNEL)
		end_stay(t, false);
	while (i && (t->frames[i - 1].source != event->source ||
	             t->frames[i - 1].number != event->number))
		i--;
	if (!i) {
		t->unmatched += event->source != TRACE_KERNEL;
		return;
	}
	while (t->n_frames > i)
		close_frame(t, event->time, true);
	close_frame(t, event->time, false);
}

static void add_function(struct break_tracker *t, const struct trace_event *event)
{
	struct part *part;
	bool sent;

	if (!t->n_frames)
		return;
	part = &t->frames[t->n_frames - 1];
	t->latest[t->n_frames - 1] = event->time;
	sent = event->has_sender && part->source == event->source;
	if (sent)
		add_sender(t, part, event->sender, event->sender_cpu);
	for (size_t i = 0; i < PART_FUNCTIONS; i++) {
		bool known = part->functions[i] == event->function;

		if (part->functions[i] && !known)
			continue;
		part->functions[i] = event->function;
		part->for_own[i] = (part->for_own[i] || !known) && sent && is_own(t, event->sender);
		return;
	}
}

static struct part next_task(const struct break_tracker *t, const struct trace_event *event)
{
	struct part part = { .source = TRACE_TASK,
		             .start = event->time,
		             .pid = event->other,
		             .own = is_own(t, event->other),
		             .real_time = event->prio < 100 };

	memcpy(part.text, event->text, sizeof(part.text));
	part.kthread =
		!part.own && (!part.pid || t->env->is_kthread(t->env->ctx, part.pid, part.text));
	return part;
}

static void open_task(struct break_tracker *t, const struct trace_event *event)
{
	open_frame(t, next_task(t, event));
}

/* A thread that another thread of the command took the CPU from has it again. The other may have
 * been interrupted meanwhile: those are breaks of their own. */
static void end_wait(struct break_tracker *t, uint64_t time)
{
	struct isolation_break brk = { .cpu = t->cpu,
		                       .start = t->taken.start,
		                       .end = time,
		                       .by = &t->taken,
		                       .parts = &t->taken,
		                       .n_parts = 1 };

	if (!t->n_frames)
		finish_break(t);
	t->waits = 0;
	t->taken.end = time;
	cause_find(&t->taken, t->env->symbols);
	t->env->on_part(t->env->ctx, t->cpu, &t->taken);
	tell_break(t, &brk);
}

/* A thread of the command gives the CPU to one that is none. */
static void go_off(struct break_tracker *t, const struct trace_event *event)
{
	bool asleep = event->state & ~(uint64_t)STATE_PREEMPTED;

	if (event->state & STATE_ENDED) {
		t->state = BREAK_UNUSED;
		return;
	}
	if (asleep)
		open_frame(t, (struct part){ .source = TRACE_SLEEP, .start = event->time });
	if (!asleep || event->other)
		open_task(t, event);
	t->state = BREAK_OFF;
	t->off = event->pid;
}

static bool is_asleep(const struct break_tracker *t)
{
	return t->n_frames && t->frames[0].source == TRACE_SLEEP;
}

/* The turn of one task ends. In sleep, the frame of the sleep itself stays. */
static void end_turn(struct break_tracker *t, uint64_t time, bool sleep_too)
{
	unsigned int keep = is_asleep(t) && !sleep_too;

	while (t->n_frames > keep) {
		const struct part *top = &t->frames[t->n_frames - 1];

		close_frame(t, time, !is_turn(top));
	}
}

/* A thread of the command could go on, and another of its threads has the CPU instead. */
static void begin_wait(struct break_tracker *t, pid_t waits, const struct trace_event *event)
{
	if (t->waits)
		return;
	t->waits = waits;
	t->taken = next_task(t, event);
}

static void switch_task(struct break_tracker *t, const struct trace_event *event)
{
	bool own = is_own(t, event->other), could_go_on;

	if (t->waits && t->waits == event->other)
		end_wait(t, event->time);
	if (t->state == BREAK_OFF) {
		could_go_on = !is_asleep(t);
		end_turn(t, event->time, own);
		if (!own && (event->other || could_go_on))
			open_task(t, event);
		if (own && could_go_on && event->other != t->off)
			begin_wait(t, t->off, event);
		if (own)
			t->state = BREAK_ON;
		return;
	}
	/* Interrupts do not switch tasks. On PREEMPT_RT softirqs may be switched out. */
	while (t->n_frames)
		close_frame(t, event->time, t->frames[t->n_frames - 1].source != TRACE_KERNEL);
	if (event->state & STATE_ENDED)
		finish_break(t);
	end_stay(t, event->state & STATE_ENDED);
	could_go_on = !(event->state & ~(uint64_t)STATE_PREEMPTED);
	if (t->state == BREAK_ON && !own)
		go_off(t, event);
	else if (t->state == BREAK_ON && could_go_on)
		begin_wait(t, event->pid, event);
	else if (own)
		t->state = BREAK_ON;
}

/* The thread that is expected back goes on elsewhere. */
static void moved(struct break_tracker *t, const struct trace_event *event)
{
	bool asleep = is_asleep(t);

	if (event->other == t->waits)
		t->waits = 0;
	if (t->state != BREAK_OFF || event->other != t->off)
		return;
	end_turn(t, event->time, true);
	if (!asleep)
		add_point(t, event);
	finish_break(t);
	t->state = BREAK_UNUSED;
}

/*
 * Who has the CPU is told by every event. Usually it is who was switched to last; but a kernel may
 * record nothing while a certain task runs (seen with 6.18: the recursion count that perf keeps in
 * each task was not 0 any more), not even the switch away from it.
 */
static void settle_state(struct break_tracker *t, const struct trace_event *event)
{
	bool own;

	if (event->op == TRACE_MOVED)
		return;
	own = is_own(t, event->pid);
	if (t->current >= 0 && event->pid != t->current) {
		t->env->on_unseen(t->env->ctx, t->cpu, t->told, event->time);
		end_stay(t, false);
		if (t->state == BREAK_OFF && own) {
			t->frames[0].cut = true;
			end_turn(t, event->time, true);
			t->state = BREAK_ON;
		}
	}
	t->told = event->time;
	t->current = event->op == TRACE_SWITCH ? event->other : event->pid;
	if (t->n_frames || t->state == BREAK_OFF)
		return;
	if (t->state == BREAK_ON && !own)
		finish_break(t);
	t->state = own ? BREAK_ON : BREAK_UNUSED;
}

void break_tracker_event(struct break_tracker *t, const struct trace_event *event)
{
	settle_state(t, event);
	switch (event->op) {
	case TRACE_ENTER:
		enter(t, event);
		break;
	case TRACE_LEAVE:
		leave(t, event);
		break;
	case TRACE_POINT:
		/* The faults of others are their own affair. */
		if (event->source != TRACE_FAULT || is_own(t, event->pid))
			add_point(t, event);
		break;
	case TRACE_SWITCH:
		switch_task(t, event);
		break;
	case TRACE_MOVED:
		moved(t, event);
		break;
	case TRACE_FUNCTION:
		add_function(t, event);
		break;
	case TRACE_SENT:
	case TRACE_ARMED:
		break;
	}
}

void break_tracker_lost(struct break_tracker *t)
{
	while (t->n_frames)
		close_frame(t, t->latest[t->n_frames - 1], true);
	t->cut = true;
	finish_break(t);
	end_stay(t, false);
	t->waits = 0;
	t->current = -1;
	t->state = BREAK_UNKNOWN;
}

void break_tracker_passed(struct break_tracker *t, uint64_t time)
{
	if (t->open && !t->n_frames && t->state == BREAK_ON && time > t->end + BREAK_JOIN_NS)
		finish_break(t);
}

void break_tracker_end(struct break_tracker *t, uint64_t time)
{
	while (t->n_frames)
		close_frame(t, time, true);
	finish_break(t);
	end_stay(t, true);
	t->state = BREAK_UNKNOWN;
}

uint64_t break_tracker_since(const struct break_tracker *t)
{
	if (t->n_held)
		return t->held[0].start;
	return t->open ? t->start : UINT64_MAX;
}

void break_tracker_free(struct break_tracker *t)
{
	for (size_t i = 0; i < t->n_held; i++)
		free(t->held[i].parts);
	free(t->held);
	*t = (struct break_tracker){ 0 };
}
