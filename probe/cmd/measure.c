/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "measure.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "../../isolcore/cpulist.h"

#define STACK_SIZE     (256u << 10)
#define SECOND_NS      1000000000u
#define PREHEAT_MIN_NS 250000000u
#define CAUSES_POLL_NS 100000000u
#define UNSTABLE_PART  1000  /* the clocks part by more than this part of the run ... */
#define UNSTABLE_NS    50000 /* ... and this */

/* Where the measuring threads may go on to. */
enum phase {
	PHASE_PREPARE,
	PHASE_PREHEAT,
	PHASE_MEASURE,
};

/* What the control thread and the measuring threads share. */
struct stage {
	const struct arguments *args;
	const struct system *sys;
	const struct clock_scale *scale;
	uint64_t threshold_ns;
	volatile bool stop; /* leave the loop */

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	size_t n_done; /* threads that have done their part of the phase */
	enum phase phase;
	bool give_up;
};

struct worker {
	struct stage *stage;
	struct measured *measured;
	pthread_t thread;
	struct tick_record *preheat;
	struct tick_record *running; /* published for the progress */
	struct gap_ring *ring;       /* for the gaps of the measurement; or NULL */
	char *from, *to;             /* of the workload; given back with the process */
	int rc;
	const char *failed; /* what returned rc */
};

static void loop_none(struct isolprobe *probe, const struct worker *w)
{
	while (!w->stage->stop)
		isolprobe_tick(probe);
}

static void loop_memmove(struct isolprobe *probe, const struct worker *w)
{
	size_t size = w->stage->args->workload_size;

	while (!w->stage->stop) {
		memmove(w->to, w->from, size);
		__asm__ volatile("" : : "r"(w->to) : "memory");
		isolprobe_tick(probe);
	}
}

static void (*const loops[WORKLOADS])(struct isolprobe *probe, const struct worker *w) = {
	[WORKLOAD_NONE] = loop_none,
	[WORKLOAD_MEMMOVE] = loop_memmove,
};

/* How long the calling thread has waited for its CPU: the second field, without CONFIG_SCHED_INFO
 * there is no file. */
static bool read_run_delay(const struct sysroot *root, unsigned long long *ns)
{
	_cleanup_free_ char *text = NULL;
	const char *delay;

	if (sysroot_read(root, "/proc/thread-self/schedstat", &text, NULL))
		return false;
	delay = strchr(text, ' ');
	return delay && sscanf(delay, "%20llu", ns) == 1;
}

/* alone: chisol, if there is one, is not told of it. */
static int run_loop(struct worker *w, struct gap_ring *ring, bool alone,
                    struct tick_record **record)
{
	struct tick_options options = { .threshold_ns = w->stage->threshold_ns,
		                        .scale = w->stage->scale,
		                        .n_worst = w->stage->args->n_gaps,
		                        .n_first = w->stage->args->n_gaps,
		                        .ring = ring,
		                        .alone = alone };
	struct isolprobe probe;
	unsigned long long before, after;
	bool known = read_run_delay(&w->stage->sys->root, &before);
	int rc = tick_begin(&probe, &options);

	w->failed = "begin";
	if (rc) {
		__atomic_store_n(&w->rc, rc, __ATOMIC_RELEASE); /* nobody is to wait for it */
		return rc;
	}
	__atomic_store_n(&w->running, tick_current(), __ATOMIC_RELEASE);
	loops[w->stage->args->workload](&probe, w);
	*record = tick_take(&probe);
	__atomic_store_n(&w->running, NULL, __ATOMIC_RELEASE);
	w->measured->has_run_delay = known && read_run_delay(&w->stage->sys->root, &after);
	if (w->measured->has_run_delay)
		w->measured->run_delay_ns = after - before;
	return 0;
}

static int take_place(struct worker *w)
{
	struct sched_param param = { .sched_priority = w->stage->args->priority };
	_cleanup_cpumask_ struct cpumask mask = CPUMASK_INIT;
	int rc;

	cpumask_set(&mask, w->measured->cpu);
	w->failed = "move there (is it in this process's cpuset?)";
	rc = cpumask_set_affinity(&mask, 0);
	if (rc || !param.sched_priority)
		return rc;
	w->failed = "set SCHED_FIFO (it needs root, CAP_SYS_NICE or RLIMIT_RTPRIO)";
	return pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) ? -EPERM : 0;
}

/* From the kernel, as malloc(3) would make an arena for the thread, which is locked, too. */
static void *map_memory(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
	            -1, 0);
}

static int prepare(struct worker *w)
{
	size_t size = w->stage->args->workload_size;
	int rc = take_place(w);

	if (rc)
		return rc;
	if (w->stage->args->workload == WORKLOAD_MEMMOVE) {
		w->failed = "allocate the memory of the workload";
		w->from = map_memory(size);
		w->to = map_memory(size);
		if (w->from == MAP_FAILED || w->to == MAP_FAILED)
			return -ENOMEM;
		memset(w->from, 1, size); /* else all of it is the one page of zeroes */
	}
	w->measured->clock = clock_examine();
	return 0;
}

/* A thread has done its part, and waits for the next. Returns whether there will be one. */
static bool next_phase(struct stage *stage, enum phase phase)
{
	bool go_on;

	pthread_mutex_lock(&stage->lock);
	stage->n_done++;
	pthread_cond_broadcast(&stage->changed);
	while (stage->phase < phase && !stage->give_up)
		pthread_cond_wait(&stage->changed, &stage->lock);
	go_on = !stage->give_up;
	pthread_mutex_unlock(&stage->lock);
	return go_on;
}

/* The control thread waits for n threads to have done their part. */
static void wait_for_all(struct stage *stage, size_t n)
{
	pthread_mutex_lock(&stage->lock);
	while (stage->n_done < n)
		pthread_cond_wait(&stage->changed, &stage->lock);
	stage->n_done = 0;
	pthread_mutex_unlock(&stage->lock);
}

static void let_on(struct stage *stage, enum phase phase, bool give_up)
{
	pthread_mutex_lock(&stage->lock);
	stage->phase = phase;
	stage->give_up = give_up;
	pthread_cond_broadcast(&stage->changed);
	pthread_mutex_unlock(&stage->lock);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	w->rc = prepare(w);
	if (!next_phase(w->stage, PHASE_PREHEAT))
		return NULL;
	w->rc = run_loop(w, NULL, true, &w->preheat);
	if (next_phase(w->stage, PHASE_MEASURE))
		w->rc = run_loop(w, w->ring, false, &w->measured->record);
	return NULL;
}

/* Moves the calling thread to where it disturbs nobody: neither a measured CPU nor its sibling. */
static int leave_measured(struct run *run, const struct arguments *args, const struct system *sys,
                          struct error *err)
{
	_cleanup_cpumask_ struct cpumask wanted = CPUMASK_INIT, keep_off = CPUMASK_INIT;
	_cleanup_free_ char *cpus = NULL;
	int rc;

	if (args->control) {
		rc = cpulist_parse(&run->control, args->control, sys, NULL, err);
		if (rc)
			return error_prefix(err, "--control");
	} else {
		cpumask_copy(&run->control, &sys->machine.online);
		cpumask_for_each (cpu, &run->cpus) {
			_cleanup_cpumask_ struct cpumask siblings = CPUMASK_INIT;

			/* Without the file, as on some arm64 machines, there is no SMT. */
			if (!system_siblings(sys, (unsigned int)cpu, &siblings, NULL))
				cpumask_or(&keep_off, &siblings);
			cpumask_set(&keep_off, (unsigned int)cpu);
		}
		cpumask_andnot(&run->control, &keep_off);
		/* Rather a CPU that nobody wanted quiet. */
		machine_housekeeping(&wanted, &sys->machine);
		cpumask_and(&wanted, &run->control);
		if (!cpumask_empty(&wanted))
			cpumask_copy(&run->control, &wanted);
	}
	rc = cpumask_empty(&run->control) ? -EINVAL : cpumask_set_affinity(&run->control, 0);
	if (!rc)
		return cpumask_get_affinity(&run->control, 0);
	cpus = cpumask_list(&run->cpus);
	return error_set(
		err, -rc,
		"no CPU is left for the thread that controls the measurement: it must be on "
		"none of %s, nor on an SMT sibling of them, and in this process's cpuset; "
		"measure fewer CPUs (--cpus), or say where it may run (--control)",
		cpus);
}

/* Returns how many threads there are, all or not. */
static size_t start(struct worker *workers, struct run *run, struct stage *stage, struct error *err)
{
	size_t n = 0;
	pthread_attr_t attr;
	int rc = pthread_attr_init(&attr);

	if (!rc)
		rc = pthread_attr_setstacksize(&attr, STACK_SIZE);
	for (; n < run->n_measured && !rc; n += !rc) {
		workers[n].stage = stage;
		workers[n].measured = &run->measured[n];
		workers[n].ring = causes_ring(&run->causes, n);
		rc = pthread_create(&workers[n].thread, &attr, work, &workers[n]);
	}
	pthread_attr_destroy(&attr);
	if (rc)
		error_errno(err, rc, "cannot start a thread for each CPU");
	return n;
}

/* Did each do its part? */
static int check_workers(const struct worker *workers, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		if (workers[i].rc)
			return error_errno(err, -workers[i].rc, "cannot measure CPU %u: cannot %s",
			                   workers[i].measured->cpu, workers[i].failed);
	return 0;
}

/* The points in time that the clock is fitted through: when full, every second one goes. */
struct timeline {
	struct clock_point points[CLOCK_POINTS];
	size_t n;
	uint64_t every_ns;
};

static void add_point(struct timeline *t)
{
	struct clock_point now = clock_now();

	if (t->n && now.ns - t->points[t->n - 1].ns < t->every_ns)
		return;
	if (t->n == CLOCK_POINTS) {
		t->n = 0;
		for (size_t i = 0; i < CLOCK_POINTS; i += 2)
			t->points[t->n++] = t->points[i];
		t->every_ns *= 2;
	}
	t->points[t->n++] = now;
}

static void tell(const struct worker *workers, const struct run *run, const struct stage *stage,
                 uint64_t elapsed, progress_fn progress)
{
	uint64_t n_breaks = 0, max = 0;

	for (size_t i = 0; i < run->n_measured; i++) {
		const struct tick_record *record =
			__atomic_load_n(&workers[i].running, __ATOMIC_ACQUIRE);
		uint64_t n, longest;

		if (!record)
			continue;
		tick_progress(record, &n, &longest);
		n_breaks += n;
		max = longest > max ? longest : max;
	}
	progress(elapsed, stage->args->duration_ns, n_breaks, clock_ns(stage->scale, max));
}

/* On a busy machine a thread may wait for its CPU: the time counts from when all have begun. */
static void wait_for_loops(const struct worker *workers, size_t n)
{
	static const struct timespec a_moment = { 0, 1000000 };

	for (size_t i = 0; i < n; i++)
		while (!__atomic_load_n(&workers[i].running, __ATOMIC_ACQUIRE) &&
		       !__atomic_load_n(&workers[i].rc, __ATOMIC_ACQUIRE))
			nanosleep(&a_moment, NULL);
}

/* From here on the kernel's events have to do with gaps. */
static void begin_windows(struct run *run, const struct worker *workers)
{
	for (size_t i = 0; i < run->n_measured; i++) {
		const struct tick_record *record =
			__atomic_load_n(&workers[i].running, __ATOMIC_ACQUIRE);

		if (record)
			causes_begin_window(&run->causes, i, &record->begin_point);
	}
}

static void end_windows(struct run *run)
{
	for (size_t i = 0; i < run->n_measured; i++) {
		const struct tick_record *record = run->measured[i].record;

		causes_end_window(&run->causes, i,
		                  clock_at(&record->scale, &record->end_point, record->end));
	}
}

/* Lets the loops run for a time, or until a signal comes. Returns whether one did. */
static bool wait_for_end(uint64_t duration_ns, const sigset_t *signals, struct timeline *times,
                         const struct worker *workers, struct run *run, const struct stage *stage,
                         progress_fn progress)
{
	uint64_t most = run->causes.known ? CAUSES_POLL_NS : SECOND_NS, next_tell = 0, begin;

	wait_for_loops(workers, run->n_measured);
	if (times)
		begin_windows(run, workers);
	begin = clock_now().ns;
	for (;;) {
		uint64_t elapsed = clock_now().ns - begin;
		uint64_t left = elapsed < duration_ns ? duration_ns - elapsed : 0;
		uint64_t nap = left < most ? left : most;
		struct timespec wait = { .tv_sec = (time_t)(nap / SECOND_NS),
			                 .tv_nsec = (long)(nap % SECOND_NS) };

		if (times) {
			add_point(times);
			causes_poll(&run->causes);
		}
		if (progress && elapsed >= next_tell) {
			tell(workers, run, stage, elapsed, progress);
			next_tell = elapsed + SECOND_NS;
		}
		if (!left)
			return false;
		if (sigtimedwait(signals, NULL, &wait) > 0)
			return true;
	}
}

/* One threshold for all CPUs, from what all of them showed: the lowest would count the noise of
 * the others as breaks. */
static uint64_t common_threshold(const struct worker *workers, size_t n,
                                 const struct clock_scale *scale)
{
	uint64_t threshold = 0;

	for (size_t i = 0; i < n; i++)
		if (workers[i].preheat->threshold > threshold)
			threshold = workers[i].preheat->threshold;
	return clock_ns(scale, threshold);
}

/* How far the counters of two CPUs are apart: CLOCK_MONOTONIC is the same on both. */
static uint64_t find_skew(const struct run *run)
{
	const struct clock_point *zero = &run->measured[0].record->begin_point;
	int64_t low = 0, high = 0;
	uint64_t width = 0;

	for (size_t i = 0; i < run->n_measured; i++) {
		const struct clock_point *p = &run->measured[i].record->begin_point;
		int64_t off = (int64_t)(p->ns - clock_at(&run->scale, zero, p->steps));

		low = off < low ? off : low;
		high = off > high ? off : high;
		width = p->width > width ? p->width : width;
	}
	width = clock_ns(&run->scale, 2 * width);
	return (uint64_t)(high - low) > width ? (uint64_t)(high - low) - width : 0;
}

static bool apart(double a, double b)
{
	return a > b + b / UNSTABLE_PART || b > a + a / UNSTABLE_PART;
}

/* Did the counter run at one rate all the time, and at the one that the kernel believes in? */
static bool is_stable(const struct run *run, const struct timeline *times,
                      struct clock_scale *fitted)
{
	uint64_t elapsed = times->points[times->n - 1].ns - times->points[0].ns, off_ns;

	if (clock_fit(fitted, times->points, times->n, &off_ns))
		return false;
	if (off_ns > UNSTABLE_NS && off_ns > elapsed / UNSTABLE_PART)
		return false;
	return elapsed < SECOND_NS || !apart(clock_hz(fitted), clock_hz(&run->scale));
}

/* Settles how long a step was, and what there is to doubt. */
static void judge_clock(struct run *run, const struct timeline *times)
{
	struct clock_scale fitted;

	if (!is_stable(run, times, &fitted))
		run->doubts |= 1u << DOUBT_UNSTABLE;
	else if (!run->scale_is_kernels)
		run->scale = fitted;
	for (size_t i = 0; i < run->n_measured; i++) {
		struct measured *m = &run->measured[i];

		m->record->scale = run->scale;
		if (m->clock.backwards || m->record->backwards)
			run->doubts |= 1u << DOUBT_BACKWARDS;
		if (clock_ns(&run->scale, m->clock.median) > CLOCK_INTERCEPTED_NS)
			run->doubts |= 1u << DOUBT_INTERCEPTED;
		if (m->record->cpu != m->cpu || m->record->end_cpu != m->cpu)
			run->doubts |= 1u << DOUBT_MIGRATED;
	}
	run->skew_ns = find_skew(run);
}

/* SIGINT and others that end the measurement are waited for; what is ignored stays so. */
static void block_signals(sigset_t *waited, sigset_t *before)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };

	sigemptyset(waited);
	for (size_t i = 0; i < ARRAY_SIZE(ending); i++) {
		struct sigaction action;

		if (!sigaction(ending[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(waited, ending[i]);
	}
	pthread_sigmask(SIG_BLOCK, waited, before);
}

/* Prepares and preheats all, which also shows where the threshold has to be. */
static int preheat(struct run *run, struct stage *stage, struct worker *workers,
                   const sigset_t *signals, struct error *err)
{
	uint64_t duration = stage->args->duration_ns / 10;
	int rc;

	wait_for_all(stage, run->n_measured);
	rc = check_workers(workers, run->n_measured, err);
	if (rc)
		return rc;
	let_on(stage, PHASE_PREHEAT, false);
	duration = duration > SECOND_NS ? SECOND_NS : duration;
	duration = duration < PREHEAT_MIN_NS ? PREHEAT_MIN_NS : duration;
	run->interrupted = wait_for_end(duration, signals, NULL, workers, run, stage, NULL);
	stage->stop = true;
	wait_for_all(stage, run->n_measured);
	rc = check_workers(workers, run->n_measured, err);
	if (rc)
		return rc;
	if (!stage->threshold_ns)
		stage->threshold_ns = common_threshold(workers, run->n_measured, stage->scale);
	stage->stop = false;
	return 0;
}

static int conduct(struct run *run, struct stage *stage, struct worker *workers,
                   const sigset_t *signals, progress_fn progress, struct error *err)
{
	uint64_t duration = stage->args->duration_ns;
	struct timeline times = { .every_ns = duration / CLOCK_POINTS };
	size_t n = start(workers, run, stage, err);
	int rc = n == run->n_measured ? preheat(run, stage, workers, signals, err) : -err->err;

	run->start = time(NULL);
	causes_begin(&run->causes);
	let_on(stage, PHASE_MEASURE, rc);
	if (!rc) {
		if (run->interrupted)
			duration = PREHEAT_MIN_NS; /* there is something to report all the same */
		run->interrupted |=
			wait_for_end(duration, signals, &times, workers, run, stage, progress);
		stage->stop = true;
	}
	run->end = time(NULL);
	for (size_t i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
	if (!rc)
		rc = check_workers(workers, n, err);
	if (rc)
		return rc;
	times.every_ns = 0;
	add_point(&times);
	end_windows(run);
	causes_end(&run->causes);
	run->threshold_ns = stage->threshold_ns;
	judge_clock(run, &times);
	return 0;
}

static int find_cpus(struct run *run, const struct arguments *args, const struct system *sys,
                     struct error *err)
{
	size_t i = 0;
	int rc;

	if (args->cpus)
		rc = cpulist_parse(&run->cpus, args->cpus, sys, NULL, err);
	else
		rc = cpumask_get_affinity(&run->cpus, 0);
	if (rc)
		return args->cpus ? error_prefix(err, "--cpus")
		                  : error_errno(err, -rc, "cannot read my own CPU mask");
	run->n_measured = cpumask_weight(&run->cpus);
	run->measured = xcalloc(run->n_measured, sizeof(*run->measured));
	cpumask_for_each (cpu, &run->cpus)
		run->measured[i++].cpu = (unsigned int)cpu;
	return 0;
}

static int find_clock(struct run *run, struct error *err)
{
	int rc;

	run->scale_is_kernels = !clock_kernel_scale(&run->scale);
	if (run->scale_is_kernels)
		return 0;
	rc = clock_fit_quickly(&run->scale);
	return rc ? error_set(err, -rc, "the counter of this CPU does not advance with time") : 0;
}

/*
 * No page faults from here on. With a limit, and without CAP_IPC_LOCK, everything that is mapped
 * later would have to stay below it: then rather nothing is locked than a thread not started.
 */
static bool lock_memory(void)
{
	struct rlimit limit;
	size_t more = (size_t)sysconf(_SC_PAGESIZE);
	void *beyond;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || mlockall(MCL_CURRENT | MCL_FUTURE))
		return false;
	if (limit.rlim_cur == RLIM_INFINITY)
		return true;
	beyond = mmap(NULL, limit.rlim_cur + more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (beyond == MAP_FAILED) {
		munlockall();
		return false;
	}
	munmap(beyond, limit.rlim_cur + more);
	return true;
}

int measure(struct run *run, const struct arguments *args, const struct system *sys,
            progress_fn progress, struct error *err)
{
	struct stage stage = {
		.args = args,
		.sys = sys,
		.scale = &run->scale,
		.threshold_ns = args->threshold_ns,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	_cleanup_free_ struct worker *workers = NULL;
	sigset_t signals, before;
	int rc;

	block_signals(&signals, &before);
	rc = find_cpus(run, args, sys, err);
	if (!rc)
		rc = leave_measured(run, args, sys, err);
	if (!rc)
		rc = find_clock(run, err);
	if (!rc)
		rc = causes_open(&run->causes, args, sys, &run->cpus, err);
	if (!rc) {
		run->unlocked = !lock_memory();
		workers = xcalloc(run->n_measured, sizeof(*workers));
		rc = conduct(run, &stage, workers, &signals, progress, err);
		for (size_t i = 0; i < run->n_measured; i++)
			tick_free(workers[i].preheat);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

void run_free(struct run *run)
{
	for (size_t i = 0; i < run->n_measured; i++)
		tick_free(run->measured[i].record);
	free(run->measured);
	causes_free(&run->causes);
	cpumask_free(&run->cpus);
	cpumask_free(&run->control);
}
