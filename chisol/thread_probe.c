/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "thread_probe.h"

#include "../isolcore/isol_prctl.h"
#include "../isolcore/text.h"
#include "../probe/ring.h"
#include "preload.h"

#include <errno.h>

#define NS_PER_MS     1000000u
#define LOOK_SHARE    100         /* of chisol's time, as its other looks */
#define STALE_NS      1000000000u /* the library's thread looks ten times a second */
#define STALE_MAX_NS  10000000000u
#define POLL_MS       200
#define POLL_FIRST_MS 10 /* while the library's thread waits for its place */
#define FIRST_NS      2000000000u

static int order_isolation(struct thread_probe *tp, struct record_orders *orders, struct error *err)
{
	const struct request *req = tp->req;
	_cleanup_isol_ struct isol_interface isol = ISOL_INTERFACE_INIT;

	if (!req->task_isolation.threads || !policy_asked(req->task_isolation.policy))
		return 0;
	isol_probe(&isol, tp->sys, req->task_isolation.prctl_base, req->task_isolation.abi);
	tp->no_isolation = take_ptr(&isol.absent);
	if (tp->no_isolation)
		return 0;
	orders->isol_base = isol.base;
	orders->isol_abi = isol.abi;
	orders->isol_quiesce = req->task_isolation.quiesce;
	for (const char *p = req->task_isolation.threads; *p;) {
		size_t len = strcspn(p, ",");
		_cleanup_free_ char *pattern = text_trim(p, len);

		if (strlen(pattern) >= RECORD_PATTERN || orders->n_patterns == RECORD_NAMES)
			return error_set(err, E2BIG,
			                 "task_isolation.threads takes %u patterns of less than "
			                 "%u characters",
			                 RECORD_NAMES, RECORD_PATTERN);
		memcpy(orders->patterns[orders->n_patterns++], pattern, strlen(pattern));
		p += len + (p[len] == ',');
	}
	return 0;
}

/* The file of the group to which the number of a thread is written. */
static char *helpers_file(const struct system *sys, const char *group)
{
	_cleanup_free_ char *threads = group ? xasprintf("%s/cgroup.threads", group) : NULL;

	if (!group || sysroot_exists(&sys->root, threads))
		return take_ptr(&threads);
	return xasprintf("%s/tasks", group);
}

int thread_probe_open(struct thread_probe *tp, const struct system *sys, const struct request *req,
                      const struct plan *plan, const struct record_keep *record, struct error *err)
{
	struct record_orders *orders = &record->record->orders;

	tp->sys = sys;
	tp->req = req;
	tp->record = record;
	tp->follow.dir = -1;
	tp->library = preload_find_library();
	tp->helpers = helpers_file(sys, plan->help_group);
	tp->threads = xcalloc(RECORD_THREADS, sizeof(*tp->threads));
	tp->workload = xcalloc(1, sizeof(*tp->workload));
	record_order_cpus(tp->workload, &req->cpus.workload);
	orders->follow = 1;
	orders->places = tp->helpers != NULL;
	orders->period_ms = req->probe.period;
	orders->grace_ns = req->verdict.grace * (uint64_t)NS_PER_MS;
	record_order_cpus(&orders->workload, &req->cpus.workload);
	record_order_cpus(&orders->housekeeping, &req->cpus.housekeeping);
	return order_isolation(tp, orders, err);
}

void thread_probe_free(struct thread_probe *tp)
{
	if (!tp->threads)
		return;
	follow_close(&tp->follow);
	free(tp->library);
	free(tp->helpers);
	free(tp->not_placed);
	free(tp->no_isolation);
	free(tp->threads);
	free(tp->workload);
	interrupts_free(&tp->before);
	followed_free(&tp->followed);
}

static void look(struct thread_probe *tp, uint64_t now)
{
	uint64_t took;

	if (tp->follow.dir < 0 || follow_look(&tp->follow, now))
		return;
	__atomic_store_n(&tp->record->record->library.n_hot, tp->follow.n_hot, __ATOMIC_RELAXED);
	tp->n_looks++;
	took = monotonic_ns() - now;
	tp->next_look = now + took * LOOK_SHARE;
}

/* What the grace does not cover counts. */
static void count_interrupts_from(struct thread_probe *tp, uint64_t now)
{
	if (tp->counting || now < tp->follow.count_from)
		return;
	interrupts_free(&tp->before);
	interrupts_read(&tp->before, tp->sys, &tp->req->cpus.workload, NULL);
	tp->counting = true;
}

void thread_probe_start(struct thread_probe *tp, pid_t pid)
{
	tp->pid = pid;
	tp->began = monotonic_ns();
	tp->follow = (struct follow){
		.pid = pid,
		.workload = tp->workload,
		.count_from = tp->began + tp->req->verdict.grace * (uint64_t)NS_PER_MS,
		.threads = tp->threads,
		.folded = &tp->folded,
	};
	if (follow_open(&tp->follow))
		tp->follow.dir = -1;
	look(tp, tp->began);
	count_interrupts_from(tp, tp->began);
}

/* Is it a thread of the command? The number comes from the record. */
static bool is_its_thread(const struct thread_probe *tp, uint32_t tid)
{
	_cleanup_free_ char *path = xasprintf("/proc/%d/task/%u", (int)tp->pid, tid);

	return sysroot_exists(&tp->sys->root, path);
}

/* Moves the library's thread off the workload's CPUs, which the command itself may not be allowed
 * to. */
static void give_place(struct thread_probe *tp, uint32_t tid)
{
	struct record_library *library = &tp->record->record->library;
	_cleanup_free_ char *number = xasprintf("%u", tid);
	_cleanup_error_ struct error err = ERROR_INIT;

	if (!tp->helpers || tp->not_placed || !is_its_thread(tp, tid))
		return;
	if (sysroot_write(&tp->sys->root, tp->helpers, number, &err))
		tp->not_placed = take_ptr(&err.text);
	__atomic_store_n(&library->placement, tp->not_placed ? RECORD_NOT_PLACED : RECORD_PLACED,
	                 __ATOMIC_RELEASE);
}

/* A program that execs has no thread of the library any more, and goes on. One that ends has none
 * either, for a moment. */
static void look_for_thread(struct thread_probe *tp, const struct record_library *library,
                            uint64_t now)
{
	if (library->follower != RECORD_FOLLOWS || library->ended || tp->lost)
		return;
	if (is_its_thread(tp, library->follower_tid))
		tp->missed = 0;
	else if (!tp->missed)
		tp->missed = now;
	else if (now - tp->missed > (uint64_t)POLL_MS * NS_PER_MS / 2)
		tp->lost = tp->missed;
}

static bool looks_itself(const struct record_library *library, uint64_t now)
{
	uint64_t stale = STALE_NS + library->longest_look_ns * LOOK_SHARE;

	if (library->follower != RECORD_FOLLOWS)
		return false;
	return now - library->last_look_ns < (stale < STALE_MAX_NS ? stale : STALE_MAX_NS);
}

unsigned int thread_probe_read(struct thread_probe *tp)
{
	uint64_t now = monotonic_ns();
	struct record_library library;

	record_read_library(tp->record, &library);
	if (library.follower == RECORD_WAITS)
		give_place(tp, library.follower_tid);
	look_for_thread(tp, &library, now);
	tp->follow.self = (pid_t)library.follower_tid;
	if (!looks_itself(&library, now) && now >= tp->next_look)
		look(tp, now);
	count_interrupts_from(tp, now);
	return library.follower < RECORD_FOLLOWS && now - tp->began < FIRST_NS ? POLL_FIRST_MS
	                                                                       : POLL_MS;
}

void thread_probe_finish(struct thread_probe *tp)
{
	_cleanup_interrupts_ struct interrupt_table after = INTERRUPT_TABLE_INIT;
	_cleanup_error_ struct error err = ERROR_INIT;
	struct followed *followed = &tp->followed;

	tp->ended = monotonic_ns();
	look(tp, tp->ended);
	if (interrupts_read(&after, tp->sys, &tp->req->cpus.workload, &err))
		xreplace(&after.unavailable, err.text);
	if (tp->counting)
		interrupts_subtract(&after, &tp->before);
	else /* it ended within the grace */
		after.n_rows = 0;
	followed->n_looks = tp->n_looks;
	followed->n_omitted = tp->follow.n_omitted;
	followed->count_from = tp->follow.count_from;
	followed->window_ns =
		tp->ended > followed->count_from ? tp->ended - followed->count_from : 0;
	followed_join(followed, tp->record, tp->threads, &tp->folded);
	followed_count_cpus(followed, &tp->req->cpus.workload, &after);
}

char *thread_probe_not_loaded(const struct thread_probe *tp)
{
	struct record_head head;

	record_read_head(tp->record, &head);
	return head.state == RECORD_ATTACHED ? NULL : preload_why_not(tp->record, tp->library);
}

/* What the kernel means by refusing a thread, and what to do, where that is known. */
static const char *why_no_thread(int error)
{
	static const struct {
		int error;
		const char *why;
	} whys[] = {
		{ EAGAIN, ": the limit of threads is reached; raise RLIMIT_NPROC or pids.max" },
		{ EINVAL, ": the program has set the pid namespace of its children, and may then "
		          "make no thread" },
		{ ENOSYS, ": close_range(2) needs Linux 5.9" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(whys); i++)
		if (whys[i].error == error)
			return whys[i].why;
	return "";
}

/* Why the library's thread did not look, or not to the end; NULL: it did. */
static char *why_not_itself(const struct thread_probe *tp, const struct record_library *library)
{
	char *not_loaded = thread_probe_not_loaded(tp);
	int error = (int)(library->follower_errno % 4096);

	if (not_loaded)
		return not_loaded;
	if (tp->lost && !library->ended)
		return xasprintf("libisolprobe was gone after %.3f s, when the program replaced "
		                 "itself by another (exec)",
		                 (double)(tp->lost - tp->began) / 1e9);
	switch ((enum record_follower)library->follower) {
	case RECORD_FOLLOWS:
		return NULL;
	case RECORD_NOWHERE:
		return xasprintf("libisolprobe's thread found no CPU outside of the command's%s%s",
		                 tp->not_placed ? ": " : "", tp->not_placed ? tp->not_placed : "");
	case RECORD_NO_THREAD:
		return xasprintf("libisolprobe has no thread that looks: %s%s", strerror(error),
		                 why_no_thread(error));
	case RECORD_NO_PROC:
		return xasprintf("libisolprobe's thread cannot open /proc/%d/task: %s%s",
		                 (int)tp->pid, strerror(error),
		                 error == ENOENT ? ": the program has changed its root directory "
		                                   "(chroot) to one without /proc; mount proc there"
		                                 : "");
	case RECORD_WITHDRAWN:
		return xstrdup("libisolprobe's thread made way for a system call of the program "
		               "that it would have disturbed");
	case RECORD_WAITS:
	case RECORD_NO_FOLLOWER:
		break;
	}
	return xstrdup("the command ended, or replaced itself by another (exec), before "
	               "libisolprobe's thread had its place");
}

char *thread_probe_observer(const struct thread_probe *tp)
{
	_cleanup_free_ char *why = NULL, *housekeeping = cpumask_list(&tp->req->cpus.housekeeping);
	struct record_library library;
	char *words = NULL;

	record_read_library(tp->record, &library);
	why = why_not_itself(tp, &library);
	if (library.n_looks)
		xappend(&words, "libisolprobe's thread on CPU %s%s (%llu looks, longest %.1f ms)",
		        housekeeping,
		        library.placement == RECORD_PLACED ? " in the run's group for helpers" : "",
		        (unsigned long long)library.n_looks, (double)library.longest_look_ns / 1e6);
	else if (!why)
		why = xstrdup("the command ended before libisolprobe's thread could");
	if (why)
		xappend(&words, "%schisol from outside (%llu looks): %s", words ? ", then " : "",
		        (unsigned long long)tp->n_looks, why);
	return words;
}
