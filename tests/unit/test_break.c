/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams of events, and the breaks that they are; the causes, and their manual. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../probe/break.h"

#define OWN     100 /* threads of the command: 100 to 199 */
#define OTHER   200
#define KTHREAD 300

struct world {
	struct symbols symbols;
	struct break_env env;
	struct break_tracker tracker;
	pid_t current;
	char *told;   /* "CAUSE START-END[!][~][$](PART...) " */
	char *unseen; /* "START-END " */
	size_t parts_seen, shared_seen;
};

static bool world_is_own(void *ctx, pid_t tid)
{
	(void)ctx;
	return tid >= OWN && tid < OTHER;
}

static bool world_is_kthread(void *ctx, pid_t tid, const char *name)
{
	(void)ctx, (void)name;
	return tid >= KTHREAD;
}

static void world_task_name(void *ctx, pid_t tid, char name[16])
{
	(void)ctx;
	snprintf(name, 16, "task-%d", (int)tid);
}

static void world_on_part(void *ctx, unsigned int cpu, const struct part *part)
{
	struct world *w = ctx;

	assert_int_equal(cpu, 1);
	assert_non_null(part->cause);
	w->parts_seen++;
	w->shared_seen += part->shared;
}

static void append(char **text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void append(char **text, const char *fmt, ...)
{
	_cleanup_free_ char *more = NULL, *before = *text;
	va_list ap;

	va_start(ap, fmt);
	more = xvasprintf(fmt, ap);
	va_end(ap);
	*text = xasprintf("%s%s", before ? before : "", more);
}

static void world_on_break(void *ctx, const struct isolation_break *brk)
{
	struct world *w = ctx;

	append(&w->told, "%s %llu-%llu%s%s%s(", brk->by->cause->code,
	       (unsigned long long)brk->start, (unsigned long long)brk->end,
	       brk->by->self ? "!" : "", brk->cut ? "~" : "", brk->ending ? "$" : "");
	for (size_t i = 0; i < brk->n_parts; i++)
		append(&w->told, "%s%u:%s", i ? " " : "", brk->parts[i].depth,
		       brk->parts[i].cause->code);
	append(&w->told, ") ");
}

static void world_on_unseen(void *ctx, unsigned int cpu, uint64_t start, uint64_t end)
{
	struct world *w = ctx;

	(void)cpu;
	append(&w->unseen, "%llu-%llu ", (unsigned long long)start, (unsigned long long)end);
}

/* The functions of the kernel, as /proc/kallsyms would name them. */
static struct symbol kernel[] = { { 1, 0 }, { 2, 18 }, { 3, 33 }, { 4, 48 }, { 5, 62 }, { 6, 73 } };
static char kernel_names[] =
	"tick_nohz_handler\0hrtimer_wakeup\0flush_tlb_func\0vmstat_update\0it_real_fn\0"
	"nohz_full_kick_func";

#define TICK      1
#define SLEEP     2
#define TLB_FLUSH 3
#define VMSTAT    4
#define ALARM     5
#define KICK      6

static int setup(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->symbols = (struct symbols){
		.loaded = true, .list = kernel, .n = ARRAY_SIZE(kernel), .text = kernel_names
	};
	w->env = (struct break_env){ .ctx = w,
		                     .symbols = &w->symbols,
		                     .is_own = world_is_own,
		                     .is_kthread = world_is_kthread,
		                     .task_name = world_task_name,
		                     .on_part = world_on_part,
		                     .on_break = world_on_break,
		                     .on_unseen = world_on_unseen };
	w->current = OWN;
	break_tracker_init(&w->tracker, 1, &w->env);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	break_tracker_free(&w->tracker);
	free(w->told);
	free(w->unseen);
	free(w);
	return 0;
}

static struct trace_event base(uint64_t time, enum trace_op op, enum trace_source source, pid_t pid)
{
	return (struct trace_event){
		.time = time, .cpu = 1, .op = op, .source = source, .pid = pid
	};
}

static void enter(struct world *w, uint64_t time, enum trace_source source)
{
	struct trace_event event = base(time, TRACE_ENTER, source, w->current);

	break_tracker_event(&w->tracker, &event);
}

static void leave(struct world *w, uint64_t time, enum trace_source source)
{
	struct trace_event event = base(time, TRACE_LEAVE, source, w->current);

	break_tracker_event(&w->tracker, &event);
}

static void point(struct world *w, uint64_t time, enum trace_source source, pid_t pid)
{
	struct trace_event event = base(time, TRACE_POINT, source, pid);

	break_tracker_event(&w->tracker, &event);
}

static void function(struct world *w, uint64_t time, uint64_t address)
{
	struct trace_event event = base(time, TRACE_FUNCTION, TRACE_NOTHING, w->current);

	event.function = address;
	break_tracker_event(&w->tracker, &event);
}

static void to(struct world *w, uint64_t time, pid_t from, uint64_t state, pid_t next,
               const char *name, int prio)
{
	struct trace_event event = base(time, TRACE_SWITCH, TRACE_TASK, from);

	w->current = next;
	event.other = next;
	event.state = state;
	event.prio = prio;
	snprintf(event.text, sizeof(event.text), "%s", name);
	break_tracker_event(&w->tracker, &event);
}

static void expect(struct world *w, const char *told)
{
	break_tracker_end(&w->tracker, 1000000);
	assert_string_equal(w->told ? w->told : "", told);
}

static void an_interrupt_is_a_break(void **state)
{
	struct world *w = *state;

	enter(w, 1000, TRACE_TIMER);
	function(w, 1200, TICK);
	leave(w, 3000, TRACE_TIMER);
	expect(w, "tick 1000-3000(0:tick) ");
}

static void a_softirq_belongs_to_the_interrupt_that_brought_it(void **state)
{
	struct world *w = *state;

	enter(w, 1000, TRACE_DEVICE);
	leave(w, 2000, TRACE_DEVICE);
	enter(w, 2100, TRACE_SOFTIRQ);
	leave(w, 4000, TRACE_SOFTIRQ);
	enter(w, 20000, TRACE_DEVICE);
	leave(w, 21000, TRACE_DEVICE);
	expect(w,
	       "device-irq 1000-4000(0:device-irq 0:softirq) device-irq 20000-21000(0:device-irq) ");
}

static void an_interrupt_in_a_softirq_in_a_preemption_is_one_break(void **state)
{
	struct world *w = *state;

	enter(w, 1000, TRACE_RESCHEDULE);
	leave(w, 1500, TRACE_RESCHEDULE);
	to(w, 2000, OWN, 0, OTHER, "cc1", 120);
	enter(w, 5000, TRACE_SOFTIRQ);
	enter(w, 6000, TRACE_TIMER);
	leave(w, 7000, TRACE_TIMER);
	leave(w, 8000, TRACE_SOFTIRQ);
	to(w, 30000, OTHER, 1, OWN, "app", 120);
	expect(w, "task 1000-30000(0:reschedule 0:task 1:softirq 2:timer) ");
}

static void several_tasks_in_turn_are_charged_to_the_longest(void **state)
{
	struct world *w = *state;

	to(w, 1000, OWN, 0, KTHREAD, "ksoftirqd/1", 120);
	to(w, 2000, KTHREAD, 1, KTHREAD + 1, "kworker/1:0", 120);
	function(w, 2500, VMSTAT);
	to(w, 9000, KTHREAD + 1, 1, OWN, "app", 120);
	to(w, 50000, OWN, 0, OTHER, "rt", 50);
	to(w, 60000, OTHER, 1, OWN, "app", 120);
	expect(w, "vmstat 1000-9000(0:ksoftirqd 0:vmstat) rt-task 50000-60000(0:rt-task) ");
}

static void own_doing_is_told_from_foreign(void **state)
{
	struct world *w = *state;

	point(w, 1000, TRACE_FAULT, OWN);
	point(w, 10000, TRACE_FAULT, OWN);
	enter(w, 11000, TRACE_TIMER);
	leave(w, 12000, TRACE_TIMER);
	to(w, 30000, OWN, 0, OWN + 1, "app", 120);
	to(w, 40000, OWN + 1, 1, OWN, "app", 120);
	to(w, 50000, OWN, 1, 0, "swapper/1", 120);
	enter(w, 60000, TRACE_TIMER);
	leave(w, 61000, TRACE_TIMER);
	to(w, 70000, 0, 0, OWN, "app", 120);
	to(w, 90000, OWN, 0, 0, "swapper/1", 120);
	to(w, 95000, 0, 0, OWN, "app", 120);
	expect(w, "page-fault 1000-1000!(0:page-fault) timer 10000-12000(0:page-fault 0:timer) "
	          "own-thread 30000-40000!(0:own-thread) sleep 50000-70000!(0:sleep 1:timer) "
	          "throttled 90000-95000(0:throttled) ");
}

static void a_thread_whose_cpu_another_one_took_waits_for_it(void **state)
{
	struct world *w = *state;

	to(w, 1000, OWN, 0, OTHER, "cc1", 120);
	to(w, 10000, OTHER, 1, OWN + 1, "app", 120);
	enter(w, 20000, TRACE_TIMER);
	leave(w, 21000, TRACE_TIMER);
	to(w, 40000, OWN + 1, 1, OWN, "app", 120);
	expect(w, "task 1000-10000(0:task) timer 20000-21000(0:timer) "
	          "own-thread 10000-40000!(0:own-thread) ");
}

static void who_sent_an_interrupt_tells_whose_doing_it_is(void **state)
{
	struct world *w = *state;
	static const struct {
		pid_t senders[2]; /* 0: not told */
		uint64_t function;
	} cases[] = {
		{ { 0, 0 }, TLB_FLUSH },
		{ { OTHER, 0 }, TLB_FLUSH },
		{ { OWN + 1, 0 }, 99 },
		{ { OWN + 1, OTHER }, TLB_FLUSH },
		{ { OTHER, OWN + 1 }, TLB_FLUSH },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t time = 1000 + 10000 * i;

		enter(w, time, TRACE_CALL_FUNCTION);
		for (size_t s = 0; s < 2; s++) {
			struct trace_event event =
				base(time + 10, TRACE_FUNCTION, TRACE_CALL_FUNCTION, OWN);

			event.function = cases[i].function;
			event.sender = cases[i].senders[s];
			event.has_sender = event.sender;
			break_tracker_event(&w->tracker, &event);
		}
		leave(w, time + 100, TRACE_CALL_FUNCTION);
	}
	expect(w, "tlb-shootdown 1000-1100!(0:tlb-shootdown) "
	          "tlb-shootdown 11000-11100(0:tlb-shootdown) "
	          "call-function 21000-21100!(0:call-function) "
	          "tlb-shootdown 31000-31100(0:tlb-shootdown) "
	          "tlb-shootdown 41000-41100(0:tlb-shootdown) ");
}

static void who_armed_a_timer_tells_whose_doing_it_is(void **state)
{
	struct world *w = *state;
	static const struct {
		pid_t armer; /* 0: not told */
		uint64_t function;
	} cases[] = { { 0, SLEEP }, { OTHER, SLEEP }, { OWN + 1, SLEEP }, { OWN, TICK } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t time = 1000 + 10000 * i;
		struct trace_event event = base(time + 10, TRACE_FUNCTION, TRACE_TIMER, OWN);

		enter(w, time, TRACE_TIMER);
		event.function = cases[i].function;
		event.sender = cases[i].armer;
		event.has_sender = event.sender;
		break_tracker_event(&w->tracker, &event);
		leave(w, time + 100, TRACE_TIMER);
	}
	expect(w, "sleep-timer 1000-1100(0:sleep-timer) sleep-timer 11000-11100(0:sleep-timer) "
	          "sleep-timer 21000-21100!(0:sleep-timer) tick 31000-31100(0:tick) ");
}

static void who_made_the_kernel_look_for_its_tick_tells_whose_doing_it_is(void **state)
{
	struct world *w = *state;
	static const struct {
		pid_t sender; /* 0: an interrupt */
		uint64_t function;
	} cases[] = { { 0, KICK }, { OWN, KICK }, { OTHER, KICK }, { OWN, TICK } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct trace_event event = base(1000 + 10000 * i, TRACE_POINT, TRACE_IRQ_WORK, OWN);

		event.function = cases[i].function;
		event.sender = cases[i].sender;
		event.has_sender = event.sender;
		break_tracker_event(&w->tracker, &event);
	}
	expect(w, "tick-check 1000-1000(0:tick-check) tick-check 11000-11000!(0:tick-check) "
	          "tick-check 21000-21000(0:tick-check) irq-work 31000-31000(0:irq-work) ");
}

/* The command's timer and another program's in one interrupt. */
static void an_interrupt_of_the_command_and_of_others_is_that_of_the_others(void **state)
{
	struct world *w = *state;

	for (int first = 0; first < 2; first++) {
		uint64_t time = 1000 + 10000 * (uint64_t)first;

		enter(w, time, TRACE_TIMER);
		for (int i = 0; i < 2; i++) {
			struct trace_event event =
				base(time + 10, TRACE_FUNCTION, TRACE_TIMER, OWN);
			bool own = i == first;

			event.function = own ? ALARM : SLEEP;
			event.sender = own ? OWN : OTHER;
			event.has_sender = true;
			break_tracker_event(&w->tracker, &event);
		}
		leave(w, time + 100, TRACE_TIMER);
	}
	expect(w, "sleep-timer 1000-1100(0:sleep-timer) sleep-timer 11000-11100(0:sleep-timer) ");
	assert_int_equal(w->shared_seen, 2);
}

static void a_reschedule_of_two_senders_is_that_of_the_foreign_one(void **state)
{
	struct world *w = *state;

	for (int first = 0; first < 2; first++) {
		uint64_t time = 1000 + 10000 * (uint64_t)first;
		struct trace_event event = base(time, TRACE_ENTER, TRACE_RESCHEDULE, OWN);

		event.has_sender = event.has_other_sender = true;
		event.sender = first ? OWN + 1 : OTHER;
		event.other_sender = first ? OTHER : OWN + 1;
		break_tracker_event(&w->tracker, &event);
		leave(w, time + 100, TRACE_RESCHEDULE);
	}
	expect(w, "reschedule 1000-1100(0:reschedule) reschedule 11000-11100(0:reschedule) ");
	assert_int_equal(w->shared_seen, 2);
}

static void what_hits_a_cpu_without_the_command_is_no_break(void **state)
{
	struct world *w = *state;

	to(w, 1000, OTHER, 1, 0, "swapper/1", 120);
	enter(w, 2000, TRACE_TIMER);
	leave(w, 3000, TRACE_TIMER);
	to(w, 4000, 0, 0, OWN, "app", 120);
	to(w, 50000, OWN, 0x10, OTHER, "cc1", 120); /* it ended */
	enter(w, 60000, TRACE_TIMER);
	leave(w, 61000, TRACE_TIMER);
	point(w, 62000, TRACE_FAULT, OTHER);
	expect(w, "");
	assert_int_equal(w->parts_seen, 2);
}

static void a_missing_exit_ends_with_what_was_last_seen(void **state)
{
	struct world *w = *state;

	enter(w, 1000, TRACE_TIMER);
	function(w, 1200, TICK);
	enter(w, 500000, TRACE_TIMER);
	leave(w, 501000, TRACE_TIMER);
	enter(w, 600000, TRACE_SOFTIRQ);
	enter(w, 601000, TRACE_TIMER);
	leave(w, 602000, TRACE_SOFTIRQ);
	expect(w, "tick 1000-1200~(0:tick) timer 500000-501000(0:timer) "
	          "softirq 600000-602000~(0:softirq 1:timer) ");
}

static void an_exit_without_an_entry_is_none_of_a_break(void **state)
{
	struct world *w = *state;

	leave(w, 1000, TRACE_TIMER);
	enter(w, 20000, TRACE_TIMER);
	leave(w, 20500, TRACE_SOFTIRQ);
	leave(w, 21000, TRACE_TIMER);
	expect(w, "timer 20000-21000(0:timer) ");
	assert_int_equal(w->tracker.unmatched, 2);
}

static void lost_records_cut_a_break_and_the_next_event_tells_who_runs(void **state)
{
	struct world *w = *state;

	to(w, 1000, OWN, 0, OTHER, "cc1", 120);
	enter(w, 3000, TRACE_TIMER);
	break_tracker_lost(&w->tracker);
	w->current = OWN;
	leave(w, 5000, TRACE_TIMER);
	enter(w, 9000, TRACE_TIMER);
	leave(w, 9500, TRACE_TIMER);
	expect(w, "task 1000-3000~(0:task 1:timer) timer 9000-9500(0:timer) ");
}

static void a_task_of_which_nothing_is_told_is_noticed(void **state)
{
	struct world *w = *state;

	to(w, 1000, OWN, 0, OTHER, "cc1", 120);
	w->current = OWN; /* the switch back is missing */
	enter(w, 9000, TRACE_TIMER);
	leave(w, 9500, TRACE_TIMER);
	expect(w, "task 1000-9500~(0:task 0:timer) ");
	assert_string_equal(w->unseen, "1000-9000 ");
}

static void what_has_not_ended_ends_with_the_run(void **state)
{
	struct world *w = *state;

	to(w, 1000, OWN, 0, OTHER, "cc1", 120);
	expect(w, "task 1000-1000000~(0:task) ");
}

static void a_thread_that_is_moved_away_ends_its_break(void **state)
{
	struct world *w = *state;
	struct trace_event event = base(7000, TRACE_MOVED, TRACE_MIGRATION, KTHREAD);

	event.other = OWN;
	to(w, 1000, OWN, 0, KTHREAD, "migration/1", 0);
	break_tracker_event(&w->tracker, &event);
	to(w, 9000, KTHREAD, 1, OTHER, "cc1", 120);
	to(w, 20000, OTHER, 1, OWN, "app", 120);
	/* asleep, it is only woken elsewhere */
	to(w, 50000, OWN, 1, OTHER, "cc1", 120);
	event.time = 60000;
	break_tracker_event(&w->tracker, &event);
	expect(w, "migration 1000-7000(0:stopper 0:migration) sleep 50000-60000!(0:sleep 1:task) ");
}

static void tick(struct world *w, uint64_t time)
{
	enter(w, time, TRACE_TIMER);
	function(w, time + 10, TICK);
	leave(w, time + 1000, TRACE_TIMER);
}

static void breaks_after_a_thread_last_left_user_mode_are_of_its_end(void **state)
{
	struct world *w = *state;

	tick(w, 10000);
	enter(w, 20000, TRACE_KERNEL);
	tick(w, 30000);
	tick(w, 40000);
	break_tracker_passed(&w->tracker, 50000);
	assert_int_equal(break_tracker_since(&w->tracker), 30000);
	leave(w, 60000, TRACE_KERNEL);
	assert_int_equal(break_tracker_since(&w->tracker), UINT64_MAX);
	tick(w, 70000);
	enter(w, 80000, TRACE_KERNEL);
	tick(w, 90000);
	to(w, 100000, OWN, 0, OTHER, "other", 120);
	to(w, 110000, OTHER, 1, OWN, "app", 120);
	leave(w, 120000, TRACE_KERNEL);
	enter(w, 130000, TRACE_KERNEL);
	tick(w, 140000);
	to(w, 150000, OWN, 0x10, OTHER, "other", 120); /* it has ended */
	expect(w, "tick 10000-11000(0:tick) tick 30000-31000(0:tick) tick 40000-41000(0:tick) "
	          "tick 70000-71000(0:tick) tick 90000-91000(0:tick) "
	          "task 100000-110000(0:task) tick 140000-141000$(0:tick) ");
}

static void a_stay_of_very_many_breaks_is_no_end(void **state)
{
	struct world *w = *state;
	size_t ticks = BREAK_HELD + 10, told = 0;

	enter(w, 20000, TRACE_KERNEL);
	for (size_t i = 0; i < ticks; i++)
		tick(w, 30000 + 10000 * i);
	break_tracker_end(&w->tracker, 100000000);
	for (const char *at = w->told; (at = strstr(at, "tick ")); at++)
		told++;
	assert_int_equal(told, ticks);
	assert_null(strchr(w->told, '$'));
}

static void a_break_is_told_once_nothing_can_join_it(void **state)
{
	struct world *w = *state;

	enter(w, 1000, TRACE_TIMER);
	leave(w, 2000, TRACE_TIMER);
	break_tracker_passed(&w->tracker, 2000 + BREAK_JOIN_NS);
	assert_null(w->told);
	break_tracker_passed(&w->tracker, 2001 + BREAK_JOIN_NS);
	assert_string_equal(w->told, "timer 1000-2000(0:timer) ");
}

static void a_break_of_very_many_parts_keeps_the_longest_turn(void **state)
{
	struct world *w = *state;

	to(w, 1000, OWN, 0, OTHER, "cc1", 120);
	for (unsigned int i = 0; i < 3 * BREAK_PARTS; i++) {
		enter(w, 2000 + i * 10, TRACE_TIMER);
		leave(w, 2005 + i * 10, TRACE_TIMER);
		to(w, 2006 + i * 10, OTHER + i % 2, 0, OTHER + (i + 1) % 2, "cc1", 120);
	}
	to(w, 20000, OTHER, 0, KTHREAD, "kworker/1:0", 120);
	to(w, 900000, KTHREAD, 1, OWN, "app", 120);
	break_tracker_end(&w->tracker, 1000000);
	assert_ptr_equal(strstr(w->told, "kworker 1000-900000("), w->told);
	assert_int_equal(w->parts_seen, 2 + 6 * BREAK_PARTS);
}

/* Any nesting at all, with missing ends: no frame too many, time goes forward, every entry is seen
 * once. */
static void any_stream_is_survived(void **state)
{
	struct world *w = *state;
	unsigned int seed = 1;
	uint64_t time = 0;

	for (int i = 0; i < 100000; i++) {
		struct trace_event event = { .cpu = 1 };

		seed = seed * 1103515245 + 12345;
		time += seed >> 20;
		event.time = time;
		event.op = (enum trace_op)(seed >> 8 & 7) % (TRACE_SENT + 1);
		event.source = (enum trace_source)(1 + (seed >> 11) % TRACE_FAULT);
		event.pid = (pid_t)(OWN + 100 * (seed >> 16 & 1));
		event.other = (pid_t)(OWN + 100 * (seed >> 17 & 3));
		event.state = seed >> 19 & 1;
		event.number = seed >> 21 & 1;
		if (event.op == TRACE_SWITCH || event.op == TRACE_MOVED)
			event.source = TRACE_TASK;
		if (event.op == TRACE_MOVED)
			event.source = TRACE_MIGRATION;
		if (seed >> 24 == 7)
			break_tracker_lost(&w->tracker);
		break_tracker_event(&w->tracker, &event);
		assert_true(w->tracker.n_frames <= BREAK_DEPTH);
		free(take_ptr(&w->told));
		free(take_ptr(&w->unseen));
	}
	break_tracker_end(&w->tracker, time);
	assert_true(w->parts_seen > 10000);
}

static void every_source_has_a_cause_for_all(void **state)
{
	struct world *w = *state;

	for (int source = TRACE_TIMER; source <= TRACE_MIGRATION; source++) {
		struct part part = { .source = (enum trace_source)source };

		cause_find(&part, &w->symbols);
		assert_non_null(part.cause);
		assert_int_equal(part.cause->source, source);
	}
}

/* The manual's text without its markup and line breaks. */
static char *plain_manual(void)
{
	FILE *f = fopen("man/chisol-report.5", "re");
	char *text = NULL, *out;
	size_t size = 0;

	assert_non_null(f);
	assert_true(getdelim(&text, &size, '\0', f) > 0);
	fclose(f);
	out = text;
	for (const char *in = text; *in; in++) {
		if (*in == '\\' && in[1] == '-')
			continue;
		*out = *in;
		if (*in == '\n')
			*out = ' ';
		out++;
	}
	*out = '\0';
	return text;
}

static void the_manual_has_the_table_of_causes(void **state)
{
	_cleanup_free_ char *manual = plain_manual();
	const char *at = strstr(manual, ".Sh CAUSES OF BREAKS");

	(void)state;
	assert_non_null(at);
	for (size_t i = 0; i < n_causes; i++) {
		const struct cause *c = &causes[i];
		_cleanup_free_ char *item =
			xasprintf(".It Cm %s %s. %sHelps: %s. ", c->code, c->meaning,
		                  c->self ? "The command's own doing. " : "", c->remedy);

		at = strstr(at, ".It Cm ");
		if (!at || strncmp(at, item, strlen(item)) != 0)
			fail_msg("chisol-report(5) should have here:\n%s\nand has\n%.200s", item,
			         at ? at : "nothing");
		at += strlen(item);
	}
	assert_int_equal(strncmp(at, ".El ", 4), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_interrupt_is_a_break),
		TEST(a_softirq_belongs_to_the_interrupt_that_brought_it),
		TEST(an_interrupt_in_a_softirq_in_a_preemption_is_one_break),
		TEST(several_tasks_in_turn_are_charged_to_the_longest),
		TEST(own_doing_is_told_from_foreign),
		TEST(a_thread_whose_cpu_another_one_took_waits_for_it),
		TEST(who_sent_an_interrupt_tells_whose_doing_it_is),
		TEST(who_armed_a_timer_tells_whose_doing_it_is),
		TEST(who_made_the_kernel_look_for_its_tick_tells_whose_doing_it_is),
		TEST(an_interrupt_of_the_command_and_of_others_is_that_of_the_others),
		TEST(a_reschedule_of_two_senders_is_that_of_the_foreign_one),
		TEST(what_hits_a_cpu_without_the_command_is_no_break),
		TEST(a_missing_exit_ends_with_what_was_last_seen),
		TEST(an_exit_without_an_entry_is_none_of_a_break),
		TEST(lost_records_cut_a_break_and_the_next_event_tells_who_runs),
		TEST(a_task_of_which_nothing_is_told_is_noticed),
		TEST(what_has_not_ended_ends_with_the_run),
		TEST(a_thread_that_is_moved_away_ends_its_break),
		TEST(breaks_after_a_thread_last_left_user_mode_are_of_its_end),
		TEST(a_stay_of_very_many_breaks_is_no_end),
		TEST(a_break_is_told_once_nothing_can_join_it),
		TEST(a_break_of_very_many_parts_keeps_the_longest_turn),
		TEST(any_stream_is_survived),
		TEST(every_source_has_a_cause_for_all),
		TEST(the_manual_has_the_table_of_causes),
	};

	return cmocka_run_group_tests_name("break", tests, NULL, NULL);
}
