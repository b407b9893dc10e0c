/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "senders.h"

#define SENT_MAX_AGE 100000000u /* ns; an interrupt that was sent longer ago is not this one */
#define TIMER_BITS   15         /* of the table; a later timer may take the place of an earlier */

/* What was done to a watched CPU by another. */
struct sent {
	uint64_t time;
	unsigned int to, from;
	enum trace_op op; /* TRACE_SENT or TRACE_MOVED */
	enum trace_source source;
	pid_t by, other; /* by: 0 is nobody */
	uint64_t number; /* of a function for another CPU: tells it from others on their way */
	uint64_t function;
};

struct armed_timer {
	uint64_t timer; /* its address */
	pid_t by;
	unsigned int cpu;
};

/*
 * ipi_send_cpu: a reschedule interrupt has no function to run (smp_send_reschedule()). A function
 * that a CPU is to run itself is irq_work (irq_work_raise()); one for another CPU comes with
 * csd_queue_cpu as well.
 */
static enum trace_source source_of(const struct trace_event *event)
{
	if (event->source != TRACE_IPI)
		return event->source;
	if (!event->function)
		return TRACE_RESCHEDULE;
	return event->target == event->cpu ? TRACE_IRQ_WORK : TRACE_NOTHING;
}

void senders_note(struct senders *senders, const struct trace_event *event)
{
	enum trace_source source = source_of(event);
	bool by_interrupt = source == TRACE_IRQ_WORK && event->in_interrupt;
	size_t at = senders->n;

	if (source == TRACE_NOTHING)
		return;
	senders->sent =
		xgrow(senders->sent, senders->n + 1, &senders->room, sizeof(*senders->sent));
	for (; at && senders->sent[at - 1].time > event->time; at--)
		senders->sent[at] = senders->sent[at - 1];
	senders->sent[at] = (struct sent){ .time = event->time,
		                           .to = event->target,
		                           .from = event->cpu,
		                           .op = event->op,
		                           .source = source,
		                           .by = by_interrupt ? 0 : event->pid,
		                           .other = event->other,
		                           .number = event->number,
		                           .function = event->function };
	senders->n++;
}

static void drop(struct senders *senders, size_t i)
{
	senders->n--;
	memmove(&senders->sent[i], &senders->sent[i + 1],
	        (senders->n - i) * sizeof(*senders->sent));
}

static void add_sender(struct trace_event *event, const struct sent *sent)
{
	if (event->has_sender && event->source == TRACE_RESCHEDULE) {
		event->has_other_sender = true;
		event->other_sender = sent->by;
		event->other_sender_cpu = sent->from;
		return;
	}
	if (sent->source == TRACE_IRQ_WORK)
		event->function = sent->function;
	event->has_sender = sent->source != TRACE_IRQ_WORK || sent->by;
	event->sender = sent->by;
	event->sender_cpu = sent->from;
}

/*
 * Of reschedule interrupts, those that were sent since the last came: they were sent while it was
 * on its way, and came with it. Functions are told apart by their number.
 */
static void find_sent(struct senders *senders, struct trace_event *event)
{
	for (size_t i = 0; i < senders->n && senders->sent[i].time <= event->time;) {
		const struct sent *sent = &senders->sent[i];

		if (sent->op != TRACE_SENT || sent->to != event->cpu ||
		    sent->source != event->source || sent->number != event->number) {
			i++;
			continue;
		}
		if (event->time - sent->time <= SENT_MAX_AGE)
			add_sender(event, sent);
		drop(senders, i);
	}
}

static struct armed_timer *timer_of(const struct senders *senders, uint64_t timer)
{
	return &senders->timers[timer * 0x9e3779b97f4a7c15u >> (64 - TIMER_BITS)];
}

/* A timer that is armed again by an interrupt is still of who armed it first. */
void senders_note_armed(struct senders *senders, const struct trace_event *event)
{
	if (event->in_interrupt)
		return;
	if (!senders->timers)
		senders->timers = xcalloc((size_t)1 << TIMER_BITS, sizeof(*senders->timers));
	*timer_of(senders, event->number) =
		(struct armed_timer){ .timer = event->number, .by = event->pid, .cpu = event->cpu };
}

/* Nobody is to blame for those that the idle task arms. */
static void find_armer(const struct senders *senders, struct trace_event *event)
{
	const struct armed_timer *armed = senders->timers ? timer_of(senders, event->number) : NULL;

	if (!armed || armed->timer != event->number || !armed->by)
		return;
	event->has_sender = true;
	event->sender = armed->by;
	event->sender_cpu = armed->cpu;
}

void senders_find(struct senders *senders, struct trace_event *event)
{
	if (event->source == TRACE_RESCHEDULE || event->source == TRACE_CALL_FUNCTION ||
	    event->source == TRACE_IRQ_WORK)
		find_sent(senders, event);
	if (event->op == TRACE_FUNCTION && event->source == TRACE_TIMER)
		find_armer(senders, event);
}

bool senders_take_moved(struct senders *senders, unsigned int cpu, uint64_t time,
                        struct trace_event *moved)
{
	for (size_t i = 0; i < senders->n && senders->sent[i].time <= time; i++) {
		const struct sent sent = senders->sent[i];

		if (sent.op != TRACE_MOVED || sent.to != cpu)
			continue;
		*moved = (struct trace_event){ .time = sent.time,
			                       .cpu = cpu,
			                       .op = TRACE_MOVED,
			                       .source = TRACE_MIGRATION,
			                       .pid = sent.by,
			                       .other = sent.other,
			                       .has_sender = true,
			                       .sender = sent.by,
			                       .sender_cpu = sent.from };
		drop(senders, i);
		return true;
	}
	return false;
}

void senders_forget(struct senders *senders, uint64_t time)
{
	size_t n = 0;

	while (n < senders->n && senders->sent[n].time + SENT_MAX_AGE < time)
		n++;
	if (!n)
		return;
	senders->n -= n;
	memmove(senders->sent, senders->sent + n, senders->n * sizeof(*senders->sent));
}

void senders_free(struct senders *senders)
{
	free(senders->sent);
	free(senders->timers);
	*senders = (struct senders){ 0 };
}
