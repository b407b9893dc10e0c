/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats as kernels have them, and as none has; rings with the records that a kernel would write,
 * and the events that they are. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tree.h"

#include "../../probe/trace_events.h"

#define COMMON                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define FORMAT(name, id, fields) \
	"name: " name "\nID: " id "\nformat:\n" COMMON fields "\nprint fmt: \"\"\n"
#define FIELD(type, name, offset, size) \
	"\tfield:" type " " name ";\toffset:" offset ";\tsize:" size ";\tsigned:0;\n"

enum id {
	ID_TIMER = 10,
	ID_TIMER_EXIT,
	ID_IRQ,
	ID_SWITCH,
	ID_MIGRATE,
	ID_ARMED,
	ID_EXPIRE,
	ID_RESCHEDULE,
	ID_SENT,
	ID_CSD,
	ID_CSD_RUN,
	ID_IRQ_WORK,
	ID_IRQ_EXIT = 30,
	ID_IPI,
	ID_IPI_EXIT,
};

#define EVENT(path) "events/" path "/format"

static const struct tree_file formats[] = {
	{ "sys/devices/system/cpu/online", "0-1" },
	{ EVENT("irq_vectors/local_timer_entry"),
	  FORMAT("local_timer_entry", "10", FIELD("int", "vector", "8", "4")) },
	{ EVENT("irq_vectors/local_timer_exit"),
	  FORMAT("local_timer_exit", "11", FIELD("int", "vector", "8", "4")) },
	{ EVENT("irq/irq_handler_entry"),
	  FORMAT("irq_handler_entry", "12",
	         FIELD("int", "irq", "8", "4") FIELD("__data_loc char[]", "name", "12", "4")) },
	{ EVENT("sched/sched_switch"),
	  FORMAT("sched_switch", "13",
	         FIELD("char", "next_comm[16]", "8", "16") FIELD("pid_t", "next_pid", "24", "4")
	                 FIELD("int", "next_prio", "28", "4")
	                         FIELD("long", "prev_state", "32", "8")) },
	{ EVENT("sched/sched_migrate_task"),
	  FORMAT("sched_migrate_task", "14",
	         FIELD("pid_t", "pid", "8", "4") FIELD("int", "orig_cpu", "12", "4")) },
	{ EVENT("timer/hrtimer_start"),
	  FORMAT("hrtimer_start", "15", FIELD("void *", "hrtimer", "8", "8")) },
	{ EVENT("timer/hrtimer_expire_entry"),
	  FORMAT("hrtimer_expire_entry", "16",
	         FIELD("void *", "hrtimer", "8", "8") FIELD("void *", "function", "16", "8")) },
	{ EVENT("irq_vectors/reschedule_entry"),
	  FORMAT("reschedule_entry", "17", FIELD("int", "vector", "8", "4")) },
	{ EVENT("ipi/ipi_send_cpu"),
	  FORMAT("ipi_send_cpu", "18",
	         FIELD("unsigned int", "cpu", "8", "4") FIELD("void *", "callback", "24", "8")) },
	{ EVENT("irq_vectors/irq_work_entry"),
	  FORMAT("irq_work_entry", "21", FIELD("int", "vector", "8", "4")) },
	{ EVENT("csd/csd_queue_cpu"),
	  FORMAT("csd_queue_cpu", "19",
	         FIELD("unsigned int", "cpu", "8", "4") FIELD("void *", "csd", "16", "8")) },
	{ EVENT("csd/csd_function_entry"),
	  FORMAT("csd_function_entry", "20",
	         FIELD("void *", "func", "8", "8") FIELD("void *", "csd", "16", "8")) },
	/* as no kernel has them: */
	{ EVENT("irq/irq_handler_exit"), FORMAT("irq_handler_exit", "25", "") },
	{ EVENT("irq/softirq_entry"),
	  FORMAT("softirq_entry", "22", FIELD("unsigned int", "vec", "-4", "4")) },
	{ EVENT("irq/softirq_exit"),
	  FORMAT("softirq_exit", "23", FIELD("unsigned int", "vec", "65534", "4")) },
	{ EVENT("nmi/nmi_handler"), "name: nmi_handler\nID: 24\nformat:\n\tfield:" },
	{ EVENT("exceptions/page_fault_user"), "" },
	{ EVENT("exceptions/page_fault_kernel"),
	  "name: page_fault_kernel\nID: 26\nformat:\n" FIELD("int", "common_pid", "4", "4") },
	{ NULL, NULL },
};

/* Of arm64, as far as it differs. */
static const struct tree_file arm_formats[] = {
	{ "sys/devices/system/cpu/online", "0-1" },
	{ EVENT("irq/irq_handler_entry"),
	  FORMAT("irq_handler_entry", "12",
	         FIELD("int", "irq", "8", "4") FIELD("__data_loc char[]", "name", "12", "4")) },
	{ EVENT("irq/irq_handler_exit"),
	  FORMAT("irq_handler_exit", "30",
	         FIELD("int", "irq", "8", "4") FIELD("int", "ret", "12", "4")) },
	{ EVENT("ipi/ipi_entry"),
	  FORMAT("ipi_entry", "31", FIELD("const char *", "reason", "8", "8")) },
	{ EVENT("ipi/ipi_exit"),
	  FORMAT("ipi_exit", "32", FIELD("const char *", "reason", "8", "8")) },
	{ EVENT("ipi/ipi_send_cpu"),
	  FORMAT("ipi_send_cpu", "18",
	         FIELD("unsigned int", "cpu", "8", "4") FIELD("void *", "callback", "24", "8")) },
	{ "printk_formats",
	  "0xffff800081a2b3c8 : \"Rescheduling interrupts\"\n"
	  "0xffff800081a2b3e0 : \"Function call interrupts\"\n"
	  "nonsense\n0x0 : \"hidden\"\n0x1 : none\n"
	  "0xffff800081a2b3f0 : \"CPU stop interrupts and something very long\"" },
	{ NULL, NULL },
};

#define RING_PAGES 4u

struct world {
	struct tree *tree;
	struct trace_events te;
	char *told;
};

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* CPU 1 is watched, of two. */
static int make_world(void **state, const struct tree_file *files, const char *arch)
{
	struct world *w = xcalloc(1, sizeof(*w));
	struct trace_events *te = &w->te;

	w->tree = tree_open(files);
	trace_formats_load(&te->formats, &w->tree->sys.root, arch);
	cpumask_set(&te->cpus, 1);
	te->n_rings = 2;
	te->rings = xcalloc(2, sizeof(*te->rings));
	for (unsigned int cpu = 0; cpu < 2; cpu++) {
		te->rings[cpu] = (struct ring){ .fd = -1,
			                        .cpu = cpu,
			                        .size = RING_PAGES * page_size(),
			                        .page = xcalloc(1 + RING_PAGES, page_size()),
			                        .record = xcalloc(1, 65536) };
	}
	te->tasks.first = 100;
	tasks_add(&te->tasks, 100);
	*state = w;
	return 0;
}

static int setup(void **state)
{
	return make_world(state, formats, "x86_64");
}

static int setup_arm(void **state)
{
	int rc = make_world(state, arm_formats, "aarch64");
	struct world *w = *state;

	arm_irqs_load(&w->te.arm_irqs, &w->tree->sys.root);
	return rc;
}

static int teardown(void **state)
{
	struct world *w = *state;

	for (unsigned int cpu = 0; cpu < 2; cpu++) {
		free(w->te.rings[cpu].page);
		w->te.rings[cpu].page = NULL;
	}
	trace_events_close(&w->te);
	tree_close(w->tree);
	free(w->told);
	free(w);
	return 0;
}

static void tell(void *ctx, unsigned int cpu, const struct trace_event *event, uint64_t lost,
                 uint64_t time)
{
	struct world *w = ctx;

	assert_int_equal(cpu, 1);
	if (!event) {
		xappend(&w->told, "lost %llu ", (unsigned long long)lost);
		return;
	}
	assert_int_equal(event->time, time);
	xappend(&w->told, "%llu:", (unsigned long long)time);
	switch (event->op) {
	case TRACE_SWITCH:
		xappend(&w->told, "switch %d>%d(%s,%d,%llu)", (int)event->pid, (int)event->other,
		        event->text, event->prio, (unsigned long long)event->state);
		break;
	case TRACE_MOVED:
		xappend(&w->told, "moved %d", (int)event->other);
		break;
	default:
		xappend(&w->told, "%s %d.%llu%s", event->op == TRACE_LEAVE ? "leave" : "enter",
		        (int)event->source, (unsigned long long)event->number, event->text);
	}
	if (event->source == TRACE_IRQ_WORK && event->function)
		xappend(&w->told, " %llx", (unsigned long long)event->function);
	if (event->has_sender)
		xappend(&w->told, " by %d on %u", (int)event->sender, event->sender_cpu);
	if (event->has_other_sender)
		xappend(&w->told, " and %d", (int)event->other_sender);
	xappend(&w->told, " ");
}

static void expect(struct world *w, const char *told)
{
	trace_events_read(&w->te, 1000000000, tell, w);
	assert_string_equal(w->told ? w->told : "", told);
	free(take_ptr(&w->told));
}

/* As the kernel writes: the record may go around the end of the ring. */
static void put_bytes(struct world *w, unsigned int cpu, const void *bytes, size_t size)
{
	struct ring *ring = &w->te.rings[cpu];
	unsigned char *data = (unsigned char *)ring->page + page_size();
	size_t begin = ring->page->data_head & (ring->size - 1);
	size_t first = size < ring->size - begin ? size : ring->size - begin;

	assert_true(ring->page->data_head + size - ring->tail <= ring->size);
	memcpy(data + begin, bytes, first);
	memcpy(data, (const char *)bytes + first, size - first);
	ring->page->data_head += size;
}

/* What stands in a raw record: numbers by their offset. */
struct raw {
	unsigned char bytes[64];
	uint32_t size;
};

static void set(struct raw *raw, size_t offset, const void *value, size_t size)
{
	memcpy(raw->bytes + offset, value, size);
}

static void set32(struct raw *raw, size_t offset, uint32_t value)
{
	set(raw, offset, &value, sizeof(value));
}

static void set64(struct raw *raw, size_t offset, uint64_t value)
{
	set(raw, offset, &value, sizeof(value));
}

static struct raw raw(enum id id, uint8_t flags, uint32_t pid)
{
	struct raw raw = { .size = 60 }; /* with its own length, a multiple of eight */
	uint16_t type = id;

	set(&raw, 0, &type, sizeof(type));
	set(&raw, 2, &flags, sizeof(flags));
	set32(&raw, 4, pid);
	return raw;
}

static void put(struct world *w, unsigned int cpu, uint64_t time, struct raw raw)
{
	struct perf_event_header header = {
		.type = PERF_RECORD_SAMPLE,
		.size = (uint16_t)(sizeof(header) + sizeof(time) + sizeof(raw.size) + 60),
	};

	put_bytes(w, cpu, &header, sizeof(header));
	put_bytes(w, cpu, &time, sizeof(time));
	put_bytes(w, cpu, &raw.size, sizeof(raw.size));
	put_bytes(w, cpu, raw.bytes, 60);
}

static void put_fork(struct world *w, unsigned int cpu, uint64_t time, uint32_t parent,
                     uint32_t child)
{
	const struct {
		struct perf_event_header header;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time, id_time;
	} record = { { .type = PERF_RECORD_FORK, .size = sizeof(record) },
		     child,
		     parent,
		     child,
		     parent,
		     time,
		     time };

	put_bytes(w, cpu, &record, sizeof(record));
}

static void put_lost(struct world *w, unsigned int cpu, uint64_t time, uint64_t lost)
{
	const struct {
		struct perf_event_header header;
		uint64_t id, lost, time;
	} record = { { .type = PERF_RECORD_LOST, .size = sizeof(record) }, 0, lost, time };

	put_bytes(w, cpu, &record, sizeof(record));
}

static bool is_missing(const struct world *w, const char *name)
{
	for (size_t i = 0; i < w->te.formats.missing.n; i++)
		if (!strcmp(w->te.formats.missing.names[i], name))
			return true;
	return false;
}

static void an_event_that_is_not_there_or_not_as_known_is_listed(void **state)
{
	struct world *w = *state;
	static const char *const missing[] = {
		"irq_vectors:call_function_entry", /* no file */
		"irq:irq_handler_exit",            /* no field */
		"irq:softirq_entry",               /* a field before the record */
		"irq:softirq_exit",                /* ... and behind it */
		"nmi:nmi_handler",                 /* ends within a field */
		"exceptions:page_fault_user",      /* empty */
		"exceptions:page_fault_kernel",    /* no common_flags */
	};

	for (size_t i = 0; i < ARRAY_SIZE(missing); i++)
		if (!is_missing(w, missing[i]))
			fail_msg("%s is taken for known", missing[i]);
	assert_int_equal(w->te.formats.n, ID_IRQ_WORK - ID_TIMER + 1);
	assert_false(is_missing(w, "sched:sched_switch"));
}

static void events_of_another_machine_are_not_missed(void **state)
{
	struct world *w = *state;

	assert_false(is_missing(w, "ipi:ipi_entry"));
	trace_formats_free(&w->te.formats);
	trace_formats_load(&w->te.formats, &w->tree->sys.root, "aarch64");
	assert_true(is_missing(w, "ipi:ipi_entry"));
	assert_false(is_missing(w, "irq_vectors:call_function_entry"));
}

static void a_record_tells_what_its_format_says(void **state)
{
	struct world *w = *state;
	struct raw sched = raw(ID_SWITCH, 0, 100), irq = raw(ID_IRQ, 0, 100);

	set(&sched, 8, "kworker/1:0", 12);
	set32(&sched, 24, 33);
	set32(&sched, 28, 120);
	set64(&sched, 32, 2);
	set32(&irq, 8, 36);
	set32(&irq, 12, 8u << 16 | 16); /* 8 bytes at 16 */
	set(&irq, 16, "virtio1", 8);
	put(w, 1, 10, raw(ID_TIMER, 0, 100));
	put(w, 1, 20, raw(ID_TIMER_EXIT, 0, 100));
	put(w, 1, 30, irq);
	put(w, 1, 40, sched);
	expect(w, "10:enter 1.0 20:leave 1.0 30:enter 10.36virtio1 "
	          "40:switch 100>33(kworker/1:0,120,2) ");
}

static void what_is_cut_off_or_unknown_is_nothing(void **state)
{
	struct world *w = *state;
	struct raw sched = raw(ID_SWITCH, 0, 100), irq = raw(ID_IRQ, 0, 100), none = irq;

	set(&sched, 8, "kworker/1:0", 12);
	set32(&sched, 24, 33);
	sched.size = 26; /* ends within next_pid */
	set32(&irq, 8, 36);
	set32(&irq, 12, 100u << 16 | 16); /* a name beyond the end */
	none.size = 1;
	put(w, 1, 10, sched);
	put(w, 1, 20, irq);
	put(w, 1, 30, none);
	put(w, 1, 40, raw((enum id)999, 0, 100));
	irq.size = 4000; /* more than the record has */
	put(w, 1, 50, irq);
	put(w, 1, 60, raw(ID_TIMER, 0, 100));
	expect(w, "10:switch 100>0(kworker/1:0,0,0) 20:enter 10.36 60:enter 1.0 ");
}

static void a_record_around_the_end_of_the_ring_is_one(void **state)
{
	struct world *w = *state;
	uint64_t time = 0;

	/* records of 80 bytes in rings of a power of two: some are in two pieces */
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 100; i++)
			put(w, 1, ++time, raw(ID_TIMER, 0, 100));
		trace_events_read(&w->te, 1000000000, tell, w);
		assert_non_null(w->told);
		assert_int_equal(w->te.rings[1].page->data_tail, 8000 * (round + 1));
		free(take_ptr(&w->told));
	}
}

static void what_is_not_older_than_the_horizon_waits(void **state)
{
	struct world *w = *state;

	put(w, 1, 10, raw(ID_TIMER, 0, 100));
	put(w, 1, 1000000000, raw(ID_TIMER_EXIT, 0, 100));
	expect(w, "10:enter 1.0 ");
	expect(w, "");
	trace_events_read(&w->te, 1000000001, tell, w);
	assert_string_equal(w->told, "1000000000:leave 1.0 ");
}

static void new_threads_are_known_in_the_order_of_time(void **state)
{
	struct world *w = *state;

	/* the parent is made on CPU 1, whose ring is read last */
	put_fork(w, 1, 10, 100, 101);
	put_fork(w, 0, 20, 101, 102);
	put_fork(w, 0, 30, 50, 51);
	expect(w, "");
	assert_true(tasks_has(&w->te.tasks, 101));
	assert_true(tasks_has(&w->te.tasks, 102));
	assert_false(tasks_has(&w->te.tasks, 51));
	/* the number of one that has ended is another's now */
	put_fork(w, 0, 40, 50, 102);
	expect(w, "");
	assert_false(tasks_has(&w->te.tasks, 102));
}

static void an_interrupt_is_of_who_sent_it(void **state)
{
	struct world *w = *state;
	struct raw sent = raw(ID_SENT, 0, 101), elsewhere = sent, csd = raw(ID_CSD, 0, 102),
		   run = raw(ID_CSD_RUN, 0, 100);

	set32(&sent, 8, 1);
	set32(&elsewhere, 8, 0);
	set32(&csd, 8, 1);
	set64(&csd, 16, 0xc0);
	set64(&run, 16, 0xc0);
	put(w, 0, 5, elsewhere);
	put(w, 0, 10, sent);
	put(w, 0, 11, csd);
	put(w, 1, 20, raw(ID_RESCHEDULE, 0, 100));
	put(w, 1, 30, raw(ID_RESCHEDULE, 0, 100)); /* sent by nobody who is known */
	put(w, 0, 32, sent);
	set32(&sent, 4, 103);
	put(w, 0, 33, sent);
	put(w, 1, 35, raw(ID_RESCHEDULE, 0, 100)); /* of two that were sent meanwhile */
	put(w, 1, 40, run);
	set64(&run, 16, 0xc8);
	put(w, 1, 50, run);
	expect(w,
	       "20:enter 2.0 by 101 on 0 30:enter 2.0 35:enter 2.0 by 101 on 0 and 103 40:enter 3.192 by 102 on 0 "
	       "50:enter 3.200 ");
}

static void work_of_a_cpu_for_itself_is_of_who_ran_there(void **state)
{
	struct world *w = *state;
	struct raw own = raw(ID_SENT, 0, 101), by_interrupt = raw(ID_SENT, 0x08, 101), other;

	set32(&own, 8, 1);
	set64(&own, 24, 0xf0);
	other = own;
	set32(&by_interrupt, 8, 1);
	set64(&by_interrupt, 24, 0xf8);
	put(w, 0, 5, other); /* a function for another CPU, which is told by its csd */
	put(w, 1, 10, own);
	put(w, 1, 15, raw(ID_RESCHEDULE, 0, 100));
	put(w, 1, 20, raw(ID_IRQ_WORK, 0, 101));
	put(w, 1, 30, by_interrupt);
	put(w, 1, 40, raw(ID_IRQ_WORK, 0, 101));
	put(w, 1, 50, raw(ID_IRQ_WORK, 0, 101));
	expect(w, "15:enter 2.0 20:enter 4.0 f0 by 101 on 1 40:enter 4.0 f8 50:enter 4.0 ");
}

static void what_was_sent_long_ago_has_come(void **state)
{
	struct world *w = *state;
	struct raw sent = raw(ID_SENT, 0, 101);

	set32(&sent, 8, 1);
	put(w, 0, 10, sent);
	put(w, 1, 200000000, raw(ID_RESCHEDULE, 0, 100));
	expect(w, "200000000:enter 2.0 ");
	assert_int_equal(w->te.senders.n, 0);
}

static void a_timer_is_of_who_armed_it(void **state)
{
	struct world *w = *state;
	struct raw armed = raw(ID_ARMED, 0, 101), again = raw(ID_ARMED, 0x08, 50),
		   idle = raw(ID_ARMED, 0, 0), expires = raw(ID_EXPIRE, 0, 50);

	set64(&armed, 8, 0x1000);
	set64(&again, 8, 0x1000);
	set64(&idle, 8, 0x1000);
	set64(&expires, 8, 0x1000);
	put(w, 1, 5, expires);
	put(w, 1, 10, armed);
	put(w, 1, 20, expires);
	put(w, 1, 25, again); /* by the interrupt itself */
	put(w, 1, 30, expires);
	put(w, 1, 35, idle);
	put(w, 1, 40, expires);
	expect(w, "5:enter 1.4096 20:enter 1.4096 by 101 on 1 30:enter 1.4096 by 101 on 1 "
	          "40:enter 1.4096 ");
}

static void a_task_that_was_moved_away_is_told_in_its_place(void **state)
{
	struct world *w = *state;
	struct raw moved = raw(ID_MIGRATE, 0, 17);

	set32(&moved, 8, 100);
	set32(&moved, 12, 1);
	put(w, 0, 15, moved);
	put(w, 1, 10, raw(ID_TIMER, 0, 100));
	put(w, 1, 20, raw(ID_TIMER_EXIT, 0, 100));
	expect(w, "10:enter 1.0 15:moved 100 by 17 on 0 20:leave 1.0 ");
}

static void lost_records_are_told_where_they_are_missing(void **state)
{
	struct world *w = *state;

	put(w, 1, 10, raw(ID_TIMER, 0, 100));
	put_lost(w, 1, 20, 7);
	put(w, 1, 30, raw(ID_TIMER_EXIT, 0, 100));
	put_lost(w, 0, 30, 5);
	expect(w, "10:enter 1.0 lost 7 30:leave 1.0 ");
	assert_int_equal(w->te.lost_elsewhere, 5);
}

static void a_ring_without_room_may_have_lost_one(void **state)
{
	struct world *w = *state;

	for (unsigned int cpu = 0; cpu < 2; cpu++)
		for (size_t left = w->te.rings[cpu].size; left >= 80; left -= 80)
			put(w, cpu, 10, raw((enum id)999, 0, 100));
	expect(w, "lost 1 ");
	assert_int_equal(w->te.lost_elsewhere, 1);
}

static void a_clock_that_goes_back_is_noticed(void **state)
{
	struct world *w = *state;

	put(w, 1, 5000000, raw(ID_TIMER, 0, 100));
	put(w, 1, 4500000, raw(ID_TIMER_EXIT, 0, 100)); /* an interrupt in between */
	assert_int_equal(w->te.clock_steps, 0);
	put(w, 1, 3000000, raw(ID_TIMER, 0, 100));
	expect(w, "5000000:enter 1.0 5000000:leave 1.0 5000000:enter 1.0 ");
	assert_int_equal(w->te.clock_steps, 1);
}

static void what_is_no_record_ends_the_reading(void **state)
{
	struct world *w = *state;
	const struct perf_event_header broken[] = { { .type = PERF_RECORD_SAMPLE, .size = 4 },
		                                    { .type = PERF_RECORD_SAMPLE, .size = 9000 } };

	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		struct ring *ring = &w->te.rings[1];

		put(w, 1, 10, raw(ID_TIMER, 0, 100));
		put_bytes(w, 1, &broken[i], sizeof(broken[i]));
		expect(w, "10:enter 1.0 ");
		ring->tail = ring->page->data_head = ring->page->data_tail = 0;
	}
}

static struct raw irq_named(uint32_t number, const char *name)
{
	struct raw irq = raw(ID_IRQ, 0, 100);

	set32(&irq, 8, number);
	set32(&irq, 12, (uint32_t)(strlen(name) + 1) << 16 | 16);
	set(&irq, 16, name, strlen(name) + 1);
	return irq;
}

static void interrupts_of_arm64_are_told_as_what_they_are(void **state)
{
	static const uint64_t kinds[] = { 0xffff800081a2b3c8, 0xffff800081a2b3e0,
		                          0xffff800081a2b3f0, 0x5 };
	struct world *w = *state;
	struct raw sent = raw(ID_SENT, 0, 7), timer_exit = raw(ID_IRQ_EXIT, 0, 100),
		   ipi_exit = timer_exit, disk_exit = timer_exit;

	set32(&timer_exit, 8, 11);
	set32(&ipi_exit, 8, 5);
	set32(&disk_exit, 8, 21);
	set32(&sent, 8, 1);
	put(w, 1, 5, timer_exit); /* not known as yet: its begin was not seen */
	put(w, 1, 10, irq_named(11, "arch_timer"));
	put(w, 1, 20, timer_exit);
	put(w, 1, 30, irq_named(21, "virtio0"));
	put(w, 1, 40, disk_exit);
	put(w, 0, 45, sent);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct raw enter = raw(ID_IPI, 0, 100), leave = raw(ID_IPI_EXIT, 0, 100);

		set64(&enter, 8, kinds[i]);
		set64(&leave, 8, kinds[i]);
		put(w, 1, 50 + 10 * i, irq_named(5, "IPI"));
		put(w, 1, 51 + 10 * i, enter);
		put(w, 1, 52 + 10 * i, leave);
		put(w, 1, 53 + 10 * i, ipi_exit);
	}
	expect(w, "5:leave 10.11 10:enter 1.0 20:leave 1.0 30:enter 10.21virtio0 40:leave 10.21 "
	          "51:enter 2.0 by 7 on 0 52:leave 2.0 61:enter 3.0 62:leave 3.0 "
	          "71:enter 9.0CPU stop interrupts and somethi "
	          "72:leave 9.0CPU stop interrupts and somethi 81:enter 9.0 82:leave 9.0 ");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(an_event_that_is_not_there_or_not_as_known_is_listed),
		TEST(events_of_another_machine_are_not_missed),
		TEST(a_record_tells_what_its_format_says),
		TEST(what_is_cut_off_or_unknown_is_nothing),
		TEST(a_record_around_the_end_of_the_ring_is_one),
		TEST(what_is_not_older_than_the_horizon_waits),
		TEST(new_threads_are_known_in_the_order_of_time),
		TEST(an_interrupt_is_of_who_sent_it),
		TEST(work_of_a_cpu_for_itself_is_of_who_ran_there),
		TEST(what_was_sent_long_ago_has_come),
		TEST(a_timer_is_of_who_armed_it),
		TEST(a_task_that_was_moved_away_is_told_in_its_place),
		TEST(lost_records_are_told_where_they_are_missing),
		TEST(a_ring_without_room_may_have_lost_one),
		TEST(a_clock_that_goes_back_is_noticed),
		TEST(what_is_no_record_ends_the_reading),
		cmocka_unit_test_setup_teardown(interrupts_of_arm64_are_told_as_what_they_are,
		                                setup_arm, teardown),
	};

	return cmocka_run_group_tests_name("trace events", tests, NULL, NULL);
}
