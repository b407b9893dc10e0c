/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "preload.h"

#include <dlfcn.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../follow.h"
#include "../monotonic.h"

#define STACK          65536ul  /* beside the program's thread-local variables */
#define PLACE_PAUSE    5000000u /* ns; how often it is looked whether chisol has moved it */
#define PLACE_PATIENCE 2000000000u
#define END_PATIENCE   2  /* s */
#define MAX_SUSPENDED  16 /* then it withdraws */
#define LOOK_SHARE     50 /* a look may take one part in so many of the time to the next */

static bool ordered;
static pthread_t main_thread;
static pthread_t thread;
static bool has_thread;
static uint32_t wake; /* a futex: changed when the thread is to look at once */
static uint32_t ended;
static bool filtered;
static unsigned int n_suspended;
static uint32_t n_live = 1;  /* threads of the program, as far as they are known here */
static pthread_key_t at_end; /* its destructor runs at the end of a thread, the main one's too */

static __thread struct record_thread *self __attribute__((tls_model("initial-exec")));

struct record *following(void)
{
	return ordered ? attached_record() : NULL;
}

struct record_thread *preload_self(void)
{
	return self;
}

static bool is_filtered(void)
{
	return __atomic_load_n(&filtered, __ATOMIC_RELAXED);
}

uint32_t preload_tid(void)
{
	if (self)
		return self->tid;
	return is_filtered() ? 0 : (uint32_t)gettid();
}

static void set_follower(struct record *record, enum record_follower follower)
{
	__atomic_store_n(&record->library.follower, follower, __ATOMIC_RELEASE);
}

static void wake_thread(void)
{
	__atomic_add_fetch(&wake, 1, __ATOMIC_RELEASE);
	preload_syscall(SYS_futex, (long)&wake, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

/* Unless it was woken since wake was seen. */
static void sleep_ns(uint64_t ns, uint32_t seen)
{
	struct timespec ts = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	preload_syscall(SYS_futex, (long)&wake, FUTEX_WAIT_PRIVATE, seen, (long)&ts, 0, 0);
}

/* Is it gone? Not waited for without end: it may wait for the dynamic loader, whose lock the caller
 * may have. */
static bool end_thread(struct record *record)
{
	uint64_t patience = monotonic_ns() + END_PATIENCE * 1000000000ull;
	struct timespec until;
	int cancelable, rc;
	pid_t pid, tid;

	if (!__atomic_exchange_n(&has_thread, false, __ATOMIC_ACQ_REL))
		return false;
	__atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
	wake_thread();
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += END_PATIENCE;
	/* What the program has called is none of the functions that pthread_cancel(3) ends. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelable);
	rc = pthread_timedjoin_np(thread, NULL, &until);
	pthread_setcancelstate(cancelable, NULL);
	if (rc)
		set_follower(record, RECORD_WITHDRAWN);
	if (rc || is_filtered())
		return !rc;
	/* It may still be counted for a moment. */
	pid = (pid_t)record->library.pid;
	tid = (pid_t)record->library.follower_tid;
	while (!preload_syscall(SYS_tgkill, pid, tid, 0, 0, 0, 0) && monotonic_ns() < patience)
		sched_yield();
	return true;
}

/* Its own last counts: nobody can look at it later. */
static void note_last_counts(const struct record *record, struct record_thread *t)
{
	struct rusage usage;
	int cpu = sched_getcpu();

	if (cpu >= 0) {
		t->cpu = (uint32_t)cpu;
		if (record_cpus_test(&record->orders.workload, t->cpu)) {
			t->hot_cpu = t->cpu;
			record_flag(t, RECORD_HOT);
		}
	}
	t->last_ns = monotonic_ns();
	if (is_filtered() || getrusage(RUSAGE_THREAD, &usage))
		return;
	preload_syscall(SYS_prctl, PR_GET_NAME, (long)t->name, 0, 0, 0, 0);
	t->now.voluntary = (uint64_t)usage.ru_nvcsw;
	t->now.involuntary = (uint64_t)usage.ru_nivcsw;
	t->now.minor = (uint64_t)usage.ru_minflt;
	t->now.major = (uint64_t)usage.ru_majflt;
	if (t->last_ns < record->library.attached_ns + record->orders.grace_ns)
		t->base = t->now;
}

static void thread_ends(void *place)
{
	struct record *record = following();
	struct record_thread *t = place;

	self = NULL;
	if (!record)
		return;
	if (t != (void *)record) { /* it has a place of its own */
		note_last_counts(record, t);
		record_flag(t, RECORD_ENDED);
	}
	if (!pthread_equal(pthread_self(), main_thread))
		__atomic_add_fetch(&record->library.n_ended, 1, __ATOMIC_RELAXED);
	/* The last one: libc calls exit() in it, if it is the last one for libc, too. */
	if (!__atomic_sub_fetch(&n_live, 1, __ATOMIC_ACQ_REL))
		end_thread(record);
}

/* Under a filter a thread does not even ask for its number, and has no place of its own:
 * chisol-probe finds it one. */
static void take_place(struct record *record)
{
	self = is_filtered() ? NULL : follow_claim(record->threads, (uint32_t)gettid(), 0);
	if (self) {
		if (!self->first_ns)
			preload_syscall(SYS_prctl, PR_GET_NAME, (long)self->name, 0, 0, 0, 0);
		self->first_ns = self->first_ns ? self->first_ns : monotonic_ns();
		__atomic_store_n(&self->handle, (uint64_t)pthread_self(), __ATOMIC_SEQ_CST);
	}
	pthread_setspecific(at_end, self ? (void *)self : (void *)record);
}

void thread_expected(void)
{
	__atomic_add_fetch(&n_live, 1, __ATOMIC_RELAXED);
}

void thread_not_expected(void)
{
	__atomic_sub_fetch(&n_live, 1, __ATOMIC_RELAXED);
}

void thread_begins(struct record *record)
{
	char name[RECORD_NAME] = "";

	take_place(record);
	if (is_filtered())
		return;
	if (!self)
		__atomic_add_fetch(&record->library.threads_omitted, 1, __ATOMIC_RELAXED);
	if (!record->orders.n_patterns ||
	    preload_syscall(SYS_prctl, PR_GET_NAME, (long)name, 0, 0, 0, 0))
		return;
	isolate_if_named(record, self, name);
}

/* Descriptors of its own (Linux 5.9): the program neither sees those that it opens nor closes them.
 */
static int leave_descriptors(void)
{
	return (int)preload_syscall(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE, 0, 0, 0);
}

static bool is_off_workload(const struct record *record)
{
	static uint64_t words[RECORD_CPU_WORDS];
	long bytes = preload_syscall(SYS_sched_getaffinity, 0, sizeof(words), (long)words, 0, 0, 0);

	if (bytes <= 0)
		return false;
	for (size_t i = 0; i < (size_t)bytes / sizeof(*words); i++)
		if (words[i] & record->orders.workload.words[i])
			return false;
	return true;
}

/* The program's own urgency is for its own work. Only once the thread is off its CPUs: there it
 * would wait until the program sleeps. */
static void be_ordinary(void)
{
	const struct sched_param none = { 0 };
	long policy = preload_syscall(SYS_sched_getscheduler, 0, 0, 0, 0, 0, 0);

	if (policy == SCHED_FIFO || policy == SCHED_RR)
		preload_syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, (long)&none, 0, 0, 0);
}

/* Off the CPUs of the workload: where chisol moves it, or else by a mask of its own. */
static bool find_place(struct record *record)
{
	const struct record_cpus *cpus = &record->orders.housekeeping;
	struct record_library *library = &record->library;
	uint64_t until = monotonic_ns() + PLACE_PATIENCE;

	if (!cpus->n_words || cpus->n_words > RECORD_CPU_WORDS)
		return false;
	set_follower(record, RECORD_WAITS);
	while (record->orders.places && !__atomic_load_n(&ended, __ATOMIC_ACQUIRE) &&
	       monotonic_ns() < until &&
	       __atomic_load_n(&library->placement, __ATOMIC_ACQUIRE) == RECORD_UNPLACED)
		sleep_ns(PLACE_PAUSE, __atomic_load_n(&wake, __ATOMIC_ACQUIRE));
	/* Without a place for this, what it has may do. */
	preload_syscall(SYS_sched_setaffinity, 0, (long)cpus->n_words * (long)sizeof(*cpus->words),
	                (long)cpus->words, 0, 0, 0);
	return is_off_workload(record);
}

static bool look(struct record *record, struct follow *follow, uint64_t *pause)
{
	struct record_library *library = &record->library;
	uint64_t least = record->orders.period_ms * 1000000ull, took, now = monotonic_ns();

	if (follow_look(follow, now))
		return false;
	library->n_hot = follow->n_hot;
	__atomic_add_fetch(&library->threads_omitted, follow->n_omitted, __ATOMIC_RELAXED);
	follow->n_omitted = 0;
	resolve_sites(record);
	took = monotonic_ns() - now;
	if (took > library->longest_look_ns)
		library->longest_look_ns = took;
	library->last_look_ns = now;
	__atomic_add_fetch(&library->n_looks, 1, __ATOMIC_RELEASE);
	*pause = took * LOOK_SHARE > least ? took * LOOK_SHARE : least;
	return true;
}

static void follow_program(struct record *record)
{
	struct follow follow = {
		.pid = getpid(),
		.self = gettid(),
		.workload = &record->orders.workload,
		.count_from = record->library.attached_ns + record->orders.grace_ns,
		.threads = record->threads,
		.folded = &record->folded,
	};
	uint64_t pause = record->orders.period_ms * 1000000ull;
	int rc = follow_open(&follow);

	if (rc) {
		record->library.follower_errno = (uint32_t)-rc;
		set_follower(record, RECORD_NO_PROC);
		return;
	}
	set_follower(record, RECORD_FOLLOWS);
	while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
		uint32_t seen = __atomic_load_n(&wake, __ATOMIC_ACQUIRE);

		/* The program's threads were none of libc's, and have ended: so does the process,
		 * without the exit() that libc would call in this one. Twice, as a listing may end
		 * early. */
		if (look(record, &follow, &pause) && !follow.n_alive &&
		    look(record, &follow, &pause) && !follow.n_alive)
			preload_syscall(SYS_exit, 0, 0, 0, 0, 0, 0);
		if (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE))
			sleep_ns(pause, seen);
	}
	follow_close(&follow);
}

static void *probe_thread(void *arg)
{
	struct record *record = arg;
	struct record_library *library = &record->library;
	struct record_thread *place;
	int rc = leave_descriptors();

	prctl(PR_SET_NAME, "chisol-probe");
	library->follower_tid = (uint32_t)gettid();
	place = follow_claim(record->threads, library->follower_tid, 0);
	if (place)
		record_flag(place, RECORD_PROBE);
	if (rc) {
		library->follower_errno = (uint32_t)-rc;
		set_follower(record, RECORD_NO_THREAD);
	} else if (!find_place(record)) {
		set_follower(record, RECORD_NOWHERE);
	} else {
		be_ordinary();
		follow_program(record);
	}
	return NULL;
}

/* glibc takes the thread-local variables of the program and its libraries from the stack of each
 * thread, and tells how much that is to those who know whom to ask. */
static size_t least_stack(const pthread_attr_t *attr)
{
	size_t (*least)(const pthread_attr_t *);
	void *found = dlsym(RTLD_DEFAULT, "__pthread_get_minstack");

	memcpy(&least, &found, sizeof(found));
	return least ? least(attr) : 0;
}

static void start_thread(struct record *record)
{
	struct record_library *library = &record->library;
	__typeof__(&pthread_create) create;
	void *next = preload_next("pthread_create");
	pthread_attr_t attr;
	sigset_t all, before;
	int rc;

	memcpy(&create, &next, sizeof(next));
	__atomic_store_n(&ended, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&library->placement, RECORD_UNPLACED, __ATOMIC_RELEASE);
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK + least_stack(&attr));
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = create(&thread, &attr, probe_thread, record);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	has_thread = !rc;
	if (!rc)
		return;
	library->follower_errno = (uint32_t)rc;
	set_follower(record, RECORD_NO_THREAD);
}

void thread_filtered(void)
{
	__atomic_store_n(&filtered, true, __ATOMIC_RELAXED);
}

/* The record, if there is a thread to end. In a child of vfork() that is the parent's, and in
 * nobody's way. */
static struct record *with_thread(void)
{
	struct record *record = following();

	if (!record || !__atomic_load_n(&has_thread, __ATOMIC_ACQUIRE))
		return NULL;
	return is_filtered() || record->library.pid == (uint32_t)getpid() ? record : NULL;
}

static void withdraw(struct record *record)
{
	end_thread(record);
	set_follower(record, RECORD_WITHDRAWN);
}

void thread_withdraw(void)
{
	struct record *record = with_thread();

	if (record)
		withdraw(record);
}

bool thread_suspend(void)
{
	struct record *record = with_thread();

	if (!record)
		return false;
	if (is_filtered() || n_suspended++ >= MAX_SUSPENDED) {
		withdraw(record);
		return false;
	}
	if (!end_thread(record))
		return false;
	/* For as long as that takes: chisol is not to look for it, and not to miss it. */
	set_follower(record, RECORD_NO_FOLLOWER);
	return true;
}

void thread_resume(void)
{
	struct record *record = following();

	if (record)
		start_thread(record);
}

__attribute__((constructor)) static void begin(void)
{
	struct record *record = attached_record();

	if (!record || !record->orders.follow || pthread_key_create(&at_end, thread_ends))
		return;
	main_thread = pthread_self();
	thread_begins(record);
	start_thread(record);
	ordered = true;
}

__attribute__((destructor)) static void end(void)
{
	struct record *record = following();

	if (!record)
		return;
	resolve_sites(record);
	__atomic_store_n(&record->library.ended, 1, __ATOMIC_RELEASE);
}
