/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch.h"

#include "../isolcore/irq.h"
#include "../isolcore/utc.h"

#define COUNT_NS    500000u
#define COUNT_TRIES 20u

/* What a process that has ended does not show any more stays as it was at the last look. Returns
 * how many settings were found changed for the first time. */
static size_t observe_task(const struct watch *watch, pid_t pid)
{
	size_t n_drifted = 0;

	for (size_t i = 0; i < watch->plan->n_tasks; i++) {
		struct task_setting *t = watch->plan->tasks[i];
		char *now = NULL;

		if (t->observed_state == OBSERVED_DRIFTED || t->state != KNOB_GRANTED ||
		    !t->op->observe || t->op->observe(watch->sys, t, pid, &now))
			continue;
		free(t->observed);
		t->observed = now;
		t->observed_state =
			t->granted && !strcmp(now, t->granted) ? OBSERVED_KEPT : OBSERVED_DRIFTED;
		n_drifted += t->observed_state == OBSERVED_DRIFTED;
	}
	return n_drifted;
}

static void warn(struct watch *watch, size_t n, const char *what)
{
	_cleanup_free_ char *now = NULL;
	struct timespec when;

	if (!n)
		return;
	clock_gettime(CLOCK_REALTIME, &when);
	now = utc_text_ms(&when);
	namelist_take(&watch->warnings,
	              xasprintf("%zu %s%s found at %s", n, what, n == 1 ? "" : "s", now));
}

/* Everything that the machine may have done to the settings since the last look. */
static void look(struct watch *watch, pid_t pid, bool running)
{
	size_t drifted = plan_observe(watch->plan, watch->sys, running) + observe_task(watch, pid);

	warn(watch, drifted, "changed setting");
	warn(watch, irq_new_since(watch->plan, watch->sys, watch->req), "new interrupt");
}

/*
 * Returns when the counts were taken. With the probe, whose own counts are to be comparable, it is
 * tried until that is known to COUNT_NS, or as well as a busy machine allows.
 */
static uint64_t count_interrupts(struct watch *watch, struct interrupt_table *table)
{
	uint64_t when = monotonic_ns(), shortest = UINT64_MAX;

	for (unsigned int i = 0; i < (watch->probe->asked ? COUNT_TRIES : 1) && shortest > COUNT_NS;
	     i++) {
		_cleanup_interrupts_ struct interrupt_table now = INTERRUPT_TABLE_INIT;
		_cleanup_error_ struct error err = ERROR_INIT;
		uint64_t began = monotonic_ns(), took;

		if (interrupts_read(&now, watch->sys, &watch->req->cpus.workload, &err)) {
			namelist_add(&watch->warnings, err.text);
			break;
		}
		took = monotonic_ns() - began;
		if (took >= shortest)
			continue;
		interrupts_free(table);
		*table = now;
		now = (struct interrupt_table)INTERRUPT_TABLE_INIT;
		shortest = took;
		when = began;
	}
	return when;
}

unsigned int watch_run(void *ctx, enum launch_event event, pid_t pid)
{
	struct watch *watch = ctx;
	unsigned int wanted;
	uint64_t counted;

	switch (event) {
	case LAUNCH_STARTED:
		counted = count_interrupts(watch, &watch->before);
		probe_start(watch->probe, pid, counted);
		warn(watch, observe_task(watch, pid), "changed setting");
		break;
	case LAUNCH_POLL:
		break;
	case LAUNCH_TICK:
		look(watch, pid, true);
		break;
	case LAUNCH_ENDED:
		counted = count_interrupts(watch, &watch->during);
		interrupts_subtract(&watch->during, &watch->before);
		look(watch, pid, false);
		probe_finish(watch->probe, counted);
		on_break_act(&watch->probe->on_break, pid, true);
		on_break_end(&watch->probe->on_break);
		return 0;
	}
	wanted = probe_read(watch->probe);
	if (event != LAUNCH_STARTED)
		on_break_act(&watch->probe->on_break, pid, false);
	return on_break_asked(&watch->probe->on_break) && wanted > ON_BREAK_POLL_MS
	               ? ON_BREAK_POLL_MS
	               : wanted;
}

void watch_before_exec(void *ctx, const char *name)
{
	const struct watch *watch = ctx;

	probe_before_exec(watch->probe, name);
}

void watch_free(struct watch *watch)
{
	interrupts_free(&watch->before);
	interrupts_free(&watch->during);
	namelist_free(&watch->warnings);
}
