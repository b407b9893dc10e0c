/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cause.h"

#include <fnmatch.h>

const struct cause causes[] = {
	{ .code = "program-timer",
	  .source = TRACE_TIMER,
	  .armed = true,
	  .functions = "posix_timer_fn it_real_fn timerfd_tmrproc alarmtimer_fired",
	  .meaning = "a timer that a program armed on this CPU (setitimer, timer_create, timerfd)",
	  .remedy = "let the program arm its timers in a thread on a housekeeping CPU" },
	{ .code = "sleep-timer",
	  .source = TRACE_TIMER,
	  .armed = true,
	  .functions = "hrtimer_wakeup",
	  .meaning = "a timer that wakes a task which went to sleep on this CPU",
	  .remedy = "keep other tasks off the CPU: [cgroup] partition = isolated, evict = yes" },
	{ .code = "watchdog",
	  .source = TRACE_TIMER,
	  .functions = "watchdog_timer_fn",
	  .meaning = "the lockup detector's timer",
	  .remedy = "boot with nowatchdog, or leave the CPU out of kernel.watchdog_cpumask" },
	{ .code = "sched-timer",
	  .source = TRACE_TIMER,
	  .functions = "dl_task_timer inactive_task_timer sched_rt_period_timer hrtick "
	               "sched_cfs_*_timer",
	  .meaning = "a timer of the scheduler: throttling, bandwidth limits, deadline servers",
	  .remedy = "kernel.sched_rt_runtime_us = -1, no cpu.max, and [scheduler] "
	            "fair_server = off" },
	{ .code = "perf",
	  .source = TRACE_TIMER,
	  .functions = "perf_*",
	  .meaning = "a timer of performance counters",
	  .remedy = "do not profile the CPU meanwhile" },
	{ .code = "tick",
	  .source = TRACE_TIMER,
	  .functions = "tick_nohz_handler tick_sched_timer tick_nohz_highres_handler",
	  .meaning = "the scheduler's tick",
	  .remedy =
	          "boot with nohz_full= for the CPU (CONFIG_NO_HZ_FULL), and run one task on it" },
	{ .code = "timer",
	  .source = TRACE_TIMER,
	  .meaning = "another local timer interrupt",
	  .remedy = "boot with nohz_full= for the CPU; the functions tell whose timer it is" },
	{ .code = "reschedule",
	  .source = TRACE_RESCHEDULE,
	  .meaning = "a reschedule interrupt: another CPU woke a task for this one",
	  .remedy = "keep other tasks off the CPU: [cgroup] partition = isolated, evict = yes" },
	{ .code = "tlb-shootdown",
	  .source = TRACE_CALL_FUNCTION,
	  .self = true,
	  .functions = "flush_tlb_func* do_flush_tlb_all do_kernel_range_flush kernel_tlb_flush_*",
	  .meaning = "another CPU changed page tables that this one uses",
	  .remedy = "no munmap, mprotect or madvise in any thread of the program meanwhile" },
	{ .code = "membarrier",
	  .source = TRACE_CALL_FUNCTION,
	  .self = true,
	  .functions = "ipi_mb ipi_sync_core ipi_rseq ipi_sync_rq_state",
	  .meaning = "membarrier(2) in the program or in one that shares its memory",
	  .remedy = "no membarrier meanwhile; liburcu and garbage collectors use it" },
	{ .code = "text-patch",
	  .source = TRACE_CALL_FUNCTION,
	  .functions = "do_sync_core text_poke_* __sync_core",
	  .meaning = "the kernel changed its own code: tracing, BPF, static keys, modules",
	  .remedy = "start and stop no tracing, BPF or firewall tools meanwhile" },
	{ .code = "perf-control",
	  .source = TRACE_CALL_FUNCTION,
	  .functions = "remote_function __perf_* perf_*",
	  .meaning = "a performance counter of this CPU was opened, read or closed",
	  .remedy = "do not profile the CPU meanwhile" },
	{ .code = "rcu-expedited",
	  .source = TRACE_CALL_FUNCTION,
	  .functions = "rcu_*",
	  .meaning = "somebody waits for all CPUs in the kernel (expedited RCU)",
	  .remedy = "boot with rcupdate.rcu_normal=1 and nohz_full= for the CPU" },
	{ .code = "msr-access",
	  .source = TRACE_CALL_FUNCTION,
	  .functions = "__rdmsr* __wrmsr* rdmsr_* wrmsr_* aperfmperf_*",
	  .meaning = "another CPU read or wrote a register of this one",
	  .remedy = "stop tools that read MSRs or frequencies (turbostat, collectd)" },
	{ .code = "call-function",
	  .source = TRACE_CALL_FUNCTION,
	  .meaning = "another CPU had a function run here",
	  .remedy = "the function and the sender tell who; keep that task from it" },
	{ .code = "tick-check",
	  .source = TRACE_IRQ_WORK,
	  .armed = true,
	  .functions = "nohz_full_kick_func",
	  .meaning = "the kernel looked whether the CPU needs its tick again: a timer was armed or "
	             "a task woken there",
	  .remedy = "no system calls in the loop, and keep other tasks off the CPU" },
	{ .code = "irq-work",
	  .source = TRACE_IRQ_WORK,
	  .meaning = "work that the kernel sent itself by an interrupt",
	  .remedy = "mostly of perf and of the tick: no profiling, and nohz_full= at boot" },
	{ .code = "thermal",
	  .source = TRACE_THERMAL,
	  .meaning = "the CPU's thermal sensor",
	  .remedy = "cool the machine; cannot be avoided, because the CPU protects itself" },
	{ .code = "platform",
	  .source = TRACE_PLATFORM_IPI,
	  .meaning = "a platform's own interrupt",
	  .remedy = "cannot be avoided, because only its driver knows what it is for" },
	{ .code = "spurious",
	  .source = TRACE_SPURIOUS,
	  .meaning = "an interrupt that was gone when the CPU looked",
	  .remedy = "cannot be avoided, because the hardware sends it" },
	{ .code = "apic-error",
	  .source = TRACE_ERROR,
	  .meaning = "an error of the interrupt controller",
	  .remedy = "cannot be avoided, because the hardware sends it" },
	{ .code = "ipi",
	  .source = TRACE_IPI,
	  .meaning = "an interrupt from another CPU",
	  .remedy = "keep other tasks off the CPU, and see the functions" },
	{ .code = "device-irq",
	  .source = TRACE_DEVICE,
	  .meaning = "a device's interrupt",
	  .remedy =
	          "move it away: [irq] policy = try; managed ones: isolcpus=managed_irq,... at boot" },
	{ .code = "softirq-timer",
	  .source = TRACE_SOFTIRQ,
	  .names = "TIMER",
	  .meaning = "timers of the kernel that were armed on this CPU",
	  .remedy = "boot with nohz_full= for the CPU; the functions tell whose timer it is" },
	{ .code = "softirq-rcu",
	  .source = TRACE_SOFTIRQ,
	  .names = "RCU",
	  .meaning = "RCU callbacks",
	  .remedy = "boot with rcu_nocbs= or nohz_full= for the CPU" },
	{ .code = "softirq-net",
	  .source = TRACE_SOFTIRQ,
	  .names = "NET_RX NET_TX",
	  .meaning = "network packets",
	  .remedy =
	          "move the network card's interrupts: [irq] policy = try; and no RPS to the CPU" },
	{ .code = "softirq-block",
	  .source = TRACE_SOFTIRQ,
	  .names = "BLOCK IRQ_POLL",
	  .meaning = "completion of disk requests",
	  .remedy = "move the disk's interrupts: [irq] policy = try" },
	{ .code = "softirq-sched",
	  .source = TRACE_SOFTIRQ,
	  .names = "SCHED",
	  .meaning = "load balancing",
	  .remedy = "[cgroup] partition = isolated" },
	{ .code = "softirq",
	  .source = TRACE_SOFTIRQ,
	  .meaning = "another softirq",
	  .remedy = "move the interrupts of its device: [irq] policy = try" },
	{ .code = "nmi",
	  .source = TRACE_NMI,
	  .meaning = "a non-maskable interrupt",
	  .remedy = "boot with nmi_watchdog=0, and do not profile the CPU meanwhile" },
	{ .code = "page-fault",
	  .source = TRACE_FAULT,
	  .self = true,
	  .meaning = "the program touched memory that was not there yet",
	  .remedy = "mlockall(2) and touch all memory before the loop" },
	{ .code = "kernel-entry",
	  .source = TRACE_KERNEL,
	  .self = true,
	  .meaning = "the program's own system call or exception (CPUs with nohz_full only)",
	  .remedy = "no system calls in the loop" },
	{ .code = "own-thread",
	  .source = TRACE_TASK,
	  .task = CAUSE_OWN,
	  .self = true,
	  .meaning = "another thread of the program took the CPU",
	  .remedy = "one thread per CPU; put helper threads on housekeeping CPUs" },
	{ .code = "throttled",
	  .source = TRACE_TASK,
	  .task = CAUSE_KTHREAD,
	  .names = "swapper*",
	  .meaning = "the program could run, and was not let: throttling or a limit",
	  .remedy = "kernel.sched_rt_runtime_us = -1, and no cpu.max on its cgroup" },
	{ .code = "vmstat",
	  .source = TRACE_TASK,
	  .task = CAUSE_KTHREAD,
	  .functions = "vmstat_update refresh_vm_stats",
	  .meaning = "the kernel's per-CPU statistics were folded",
	  .remedy = "-q vmstat_sync, or [vmstat] stat_interval" },
	{ .code = "lru-drain",
	  .source = TRACE_TASK,
	  .task = CAUSE_KTHREAD,
	  .functions = "lru_add_drain_per_cpu",
	  .meaning = "somebody emptied all CPUs' page lists (mlock, compaction, migration)",
	  .remedy = "no mlock or memory migration elsewhere meanwhile" },
	{ .code = "kworker",
	  .source = TRACE_TASK,
	  .task = CAUSE_KTHREAD,
	  .names = "kworker/*",
	  .meaning = "a kernel work item",
	  .remedy = "the functions tell which; unbound ones follow "
	            "/sys/devices/virtual/workqueue/cpumask, those of the CPU nobody can move" },
	{ .code = "ksoftirqd",
	  .source = TRACE_TASK,
	  .task = CAUSE_KTHREAD,
	  .names = "ksoftirqd/*",
	  .meaning = "softirqs that were too many for the interrupt",
	  .remedy = "move the interrupts behind them: [irq] policy = try" },
	{ .code = "stopper",
	  .source = TRACE_TASK,
	  .task = CAUSE_KTHREAD,
	  .names = "migration/*",
	  .meaning = "the kernel stopped the CPU: a task was moved, or code changed",
	  .remedy = "change no affinities meanwhile; [cgroup] partition = isolated" },
	{ .code = "irq-thread",
	  .source = TRACE_TASK,
	  .task = CAUSE_KTHREAD,
	  .names = "irq/*",
	  .meaning = "a device's interrupt thread",
	  .remedy = "[irq] threads = yes moves it with its interrupt" },
	{ .code = "rcu-thread",
	  .source = TRACE_TASK,
	  .task = CAUSE_KTHREAD,
	  .names = "rcu*",
	  .meaning = "a thread of RCU",
	  .remedy = "boot with rcu_nocbs= for the CPU, and move the threads away" },
	{ .code = "kthread",
	  .source = TRACE_TASK,
	  .task = CAUSE_KTHREAD,
	  .meaning = "another kernel thread",
	  .remedy = "boot with isolcpus= or nohz_full=; [kthreads] move = yes" },
	{ .code = "rt-task",
	  .source = TRACE_TASK,
	  .task = CAUSE_REAL_TIME,
	  .meaning = "another program's real-time task took the CPU",
	  .remedy = "keep it off the CPU: [cgroup] partition = isolated, evict = yes" },
	{ .code = "task",
	  .source = TRACE_TASK,
	  .meaning = "another program's task took the CPU",
	  .remedy = "keep it off the CPU: [cgroup] partition = isolated, evict = yes; a "
	            "real-time thread gives way only to throttling, see sched-timer" },
	{ .code = "sleep",
	  .source = TRACE_SLEEP,
	  .self = true,
	  .meaning = "the program itself waited: it slept or was blocked",
	  .remedy = "wait by polling, if the loop is not to give the CPU away" },
	{ .code = "migration",
	  .source = TRACE_MIGRATION,
	  .meaning = "a thread of the program was moved to another CPU",
	  .remedy = "pin it to one CPU, or [cgroup] partition = isolated" },
	{ 0 },
};
const unsigned int n_causes = ARRAY_SIZE(causes) - 1;

const char *softirq_name(uint64_t number)
{
	/* include/linux/interrupt.h; the numbers are the same since 2.6.30 */
	static const char *const names[] = { "HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
		                             "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU" };

	return number < ARRAY_SIZE(names) ? names[number] : "?";
}

static bool fits(const char *patterns, const char *name)
{
	while (patterns && *patterns) {
		size_t len = strcspn(patterns, " ");
		_cleanup_free_ char *pattern = xstrndup(patterns, len);

		if (!fnmatch(pattern, name, 0))
			return true;
		patterns += len + strspn(patterns + len, " ");
	}
	return false;
}

static bool task_fits(const struct cause *cause, const struct part *part)
{
	switch (cause->task) {
	case CAUSE_OWN:
		return part->own;
	case CAUSE_KTHREAD:
		return part->kthread;
	case CAUSE_REAL_TIME:
		return part->real_time;
	default:
		return true;
	}
}

static bool functions_fit(const struct cause *cause, const struct part *part,
                          struct symbols *symbols)
{
	bool foreign = part->has_sender && !part->own_sender;

	for (size_t i = 0; i < PART_FUNCTIONS && part->functions[i]; i++) {
		const char *name = symbols_name(symbols, part->functions[i]);

		if (name && !(foreign && part->for_own[i]) && fits(cause->functions, name))
			return true;
	}
	return false;
}

void cause_find(struct part *part, struct symbols *symbols)
{
	for (const struct cause *cause = causes; cause->code; cause++) {
		if (cause->source != part->source || !task_fits(cause, part) ||
		    (cause->names && !fits(cause->names, part->text)) ||
		    (cause->functions && !functions_fit(cause, part, symbols)))
			continue;
		part->cause = cause;
		/* Who armed a timer of the kernel, or ran when it sent itself work, only happened
		 * to run then. */
		part->has_sender &= cause->armed ||
		                    (part->source != TRACE_TIMER && part->source != TRACE_IRQ_WORK);
		part->shared &= part->has_sender;
		part->self = part->has_sender ? part->own_sender : cause->self;
		return;
	}
}
