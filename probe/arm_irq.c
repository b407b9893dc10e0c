/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arm_irq.h"

struct arm_irq {
	uint64_t number;
	enum trace_source source; /* TRACE_NOTHING: ipi_entry tells it */
};

struct ipi_kind {
	uint64_t address;
	enum trace_source source;
	char text[TRACE_TEXT];
};

/* The names of the kernel, drivers/clocksource/arm_arch_timer.c and arch/arm64/kernel/smp.c. */
static const struct {
	const char *name;
	enum trace_source source;
} irq_names[] = { { "arch_timer", TRACE_TIMER }, { "IPI", TRACE_NOTHING } }, ipi_names[] = {
	{ "Rescheduling interrupts", TRACE_RESCHEDULE },
	{ "Function call interrupts", TRACE_CALL_FUNCTION },
	{ "Timer broadcast interrupts", TRACE_TIMER },
	{ "IRQ work interrupts", TRACE_IRQ_WORK },
};

/* 0xffff800081a2b3c8 : "Rescheduling interrupts" */
static void take_line(struct arm_irqs *a, const char *line)
{
	struct ipi_kind kind = { .source = TRACE_IPI };
	const char *quote = strchr(line, '"');
	char *end;

	kind.address = strtoull(line, &end, 16);
	if (end == line || !quote || !kind.address)
		return;
	snprintf(kind.text, sizeof(kind.text), "%.*s", (int)strcspn(quote + 1, "\""), quote + 1);
	for (size_t i = 0; i < ARRAY_SIZE(ipi_names); i++)
		if (!strcmp(kind.text, ipi_names[i].name))
			kind.source = ipi_names[i].source;
	a->kinds = xgrow(a->kinds, a->n_kinds + 1, &a->kinds_room, sizeof(*a->kinds));
	a->kinds[a->n_kinds++] = kind;
}

void arm_irqs_load(struct arm_irqs *a, const struct sysroot *tracefs)
{
	_cleanup_free_ char *text = NULL;
	char *rest = NULL;

	if (sysroot_read_limit(tracefs, "printk_formats", SYSROOT_BIG, &text, NULL))
		return;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		take_line(a, line);
}

void arm_irqs_free(struct arm_irqs *a)
{
	free(a->irqs);
	free(a->kinds);
	*a = (struct arm_irqs){ 0 };
}

static const struct arm_irq *find_irq(const struct arm_irqs *a, uint64_t number)
{
	for (size_t i = 0; i < a->n_irqs; i++)
		if (a->irqs[i].number == number)
			return &a->irqs[i];
	return NULL;
}

/* The name comes with the begin only. */
static const struct arm_irq *learn_irq(struct arm_irqs *a, const struct trace_event *event)
{
	const struct arm_irq *known = find_irq(a, event->number);

	for (size_t i = 0; !known && i < ARRAY_SIZE(irq_names); i++) {
		if (event->op != TRACE_ENTER || strcmp(event->text, irq_names[i].name) != 0)
			continue;
		a->irqs = xgrow(a->irqs, a->n_irqs + 1, &a->irqs_room, sizeof(*a->irqs));
		a->irqs[a->n_irqs] = (struct arm_irq){ event->number, irq_names[i].source };
		known = &a->irqs[a->n_irqs++];
	}
	return known;
}

static void settle_ipi(const struct arm_irqs *a, struct trace_event *event)
{
	uint64_t address = event->number;

	event->number = 0;
	for (size_t i = 0; i < a->n_kinds; i++) {
		if (a->kinds[i].address != address)
			continue;
		event->source = a->kinds[i].source;
		if (event->source == TRACE_IPI)
			memcpy(event->text, a->kinds[i].text, sizeof(event->text));
		return;
	}
}

bool arm_irqs_settle(struct arm_irqs *a, struct trace_event *event)
{
	const struct arm_irq *irq;

	if (event->source == TRACE_IPI)
		settle_ipi(a, event);
	irq = event->source == TRACE_DEVICE ? learn_irq(a, event) : NULL;
	if (!irq)
		return true;
	event->source = irq->source;
	event->number = 0;
	*event->text = '\0';
	return event->source != TRACE_NOTHING;
}
