/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disturb CPU BEAT COUNT own|foreign: causes known disturbances of a spinning thread on a CPU, and
 * prints each with its time as a line of JSON, for the exam of the probe.
 *
 * own      spins on CPU (to be run as chisol's command), causes those of its own doing, and spins
 *          on until "foreign" has ended
 * foreign  run outside of chisol meanwhile: causes those of others
 *
 * BEAT is a file that both map. The spinner writes the time to it all the time, so that a
 * disturbance counts only if the spinner was seen running before and after, and was not gone for
 * longer than the disturbance explains: on a busy machine others get in the way.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MS         1000000ull
#define SPACING    (3 * MS)
#define PATIENCE   (20000 * MS) /* for all disturbances of a kind */
#define TURN       (1 * MS)     /* how long a task keeps the CPU */
#define WORK_PAGES 64

typedef unsigned long long u64;

struct beat {
	_Atomic u64 now;     /* when the spinner ran last */
	_Atomic u64 gap_end; /* of its last gap of more than 50 us ... */
	_Atomic u64 gap;     /* ... and its length */
	_Atomic bool spinning, stop;
};

static struct beat *beat;
static int cpu;
static _Atomic u64 handled; /* when the signal handler ran */

static u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void pin(int to)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(to, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static void rest(u64 ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

static void beat_once(void)
{
	u64 before = atomic_load_explicit(&beat->now, memory_order_relaxed), t = now();

	if (before && t - before > 50000) {
		atomic_store(&beat->gap, t - before);
		atomic_store(&beat->gap_end, t);
	}
	atomic_store_explicit(&beat->now, t, memory_order_release);
}

static void spin_until(u64 end)
{
	while (now() < end)
		beat_once();
}

/* What happened from start to end, on the thread tid. */
struct event {
	u64 start, end;
	pid_t tid;
};

struct kind {
	const char *name, *cause; /* cause: NULL: not certain to happen at all */
	bool own;
	bool by_spinner; /* else by another thread, on another CPU */
	u64 longest_gap; /* of the spinner, while this happens */
	void (*act)(struct event *event);
};

static void act_membarrier(struct event *event)
{
	(void)event;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		die("membarrier");
}

static void act_global_membarrier(struct event *event)
{
	(void)event;
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0))
		die("membarrier");
}

static void act_tlb(struct event *event)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	*p = 1;
	event->start = now();
	if (mprotect(p, page, PROT_READ))
		die("mprotect");
	event->end = now();
	munmap(p, page);
}

static void on_alarm(int sig)
{
	(void)sig;
	atomic_store(&handled, now());
}

static void act_timer(struct event *event)
{
	const struct itimerval soon = { .it_value.tv_usec = 300 };

	atomic_store(&handled, 0);
	event->start = now();
	setitimer(ITIMER_REAL, &soon, NULL);
	while (!atomic_load(&handled))
		beat_once();
	event->end = atomic_load(&handled);
}

static void act_fault(struct event *event)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *p =
		mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	event->start = now();
	*p = 1;
	event->end = now();
	munmap((void *)p, page);
}

static void act_sleep(struct event *event)
{
	(void)event;
	rest(MS);
}

/* A thread on the spinner's CPU takes it for a while; it tells its own times. */
static void *turn(void *arg)
{
	struct event *event = arg;
	u64 end;

	pin(cpu);
	rest(MS); /* wakes up on the CPU */
	event->tid = (pid_t)syscall(SYS_gettid);
	event->start = now();
	for (end = event->start + TURN; now() < end;)
		;
	event->end = now();
	return NULL;
}

static void take_turn(struct event *event, int policy)
{
	const struct sched_param param = { .sched_priority = policy == SCHED_FIFO ? 10 : 0 };
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, policy);
	pthread_attr_setschedparam(&attr, &param);
	errno = pthread_create(&thread, &attr, turn, event);
	if (errno)
		die("pthread_create");
	pthread_join(thread, NULL);
}

static void act_task(struct event *event)
{
	take_turn(event, SCHED_OTHER);
}

static void act_fifo(struct event *event)
{
	take_turn(event, SCHED_FIFO);
}

static void act_stat_refresh(struct event *event)
{
	int fd = open("/proc/sys/vm/stat_refresh", O_WRONLY | O_CLOEXEC);

	(void)event;
	if (fd < 0 || write(fd, "1\n", 2) != 2)
		die("/proc/sys/vm/stat_refresh");
	close(fd);
}

static void act_mlock(struct event *event)
{
	size_t size = WORK_PAGES * (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)event;
	if (p == MAP_FAILED || mlock(p, size))
		die("mlock");
	munmap(p, size);
}

static const struct kind kinds[] = {
	{ "timer signal", "own-timer", true, true, 500000, act_timer },
	{ "page fault", "page-fault", true, true, 200000, act_fault },
	{ "sleep", "sleep", true, true, 5 * MS, act_sleep },
	{ "own membarrier", "membarrier", true, false, 200000, act_membarrier },
	{ "own mprotect", "tlb-shootdown", true, false, 200000, act_tlb },
	{ "own thread", "own-thread", true, false, 5 * MS, act_task },
	{ "global membarrier", "membarrier", false, false, 200000, act_global_membarrier },
	{ "other task", "task", false, false, 5 * MS, act_task },
	{ "FIFO task", "rt-task", false, false, 5 * MS, act_fifo },
	{ "stat_refresh", "vmstat", false, false, 5 * MS, act_stat_refresh },
	{ "mlock", NULL, false, false, 5 * MS, act_mlock },
};

/* Did the spinner run before and after, without a gap that something else must have made? */
static bool is_clean(const struct kind *kind, u64 since)
{
	u64 end = now();

	while (!kind->by_spinner && atomic_load(&beat->now) < end)
		;
	return atomic_load(&beat->gap_end) < since || atomic_load(&beat->gap) < kind->longest_gap;
}

static void disturb(const struct kind *kind, int count)
{
	u64 deadline = now() + PATIENCE;

	for (int n = 0; n < count && now() < deadline;) {
		struct event event = { 0 };
		u64 start;

		if (kind->by_spinner)
			spin_until(now() + SPACING);
		else
			rest(SPACING);
		while (!kind->by_spinner && now() - atomic_load(&beat->now) > 10000)
			;
		start = now();
		kind->act(&event);
		if (!event.start)
			event.start = start;
		if (!event.end)
			event.end = now();
		if (kind->by_spinner)
			beat_once();
		if (!is_clean(kind, start))
			continue;
		printf("{\"kind\":\"%s\",\"cause\":%s%s%s,\"self\":%s,\"start\":%llu,\"end\":%llu,"
		       "\"pid\":%d}\n",
		       kind->name, kind->cause ? "\"" : "", kind->cause ? kind->cause : "null",
		       kind->cause ? "\"" : "", kind->own ? "true" : "false", event.start,
		       event.end, (int)event.tid);
		n++;
	}
}

static void disturb_all(bool own, bool by_spinner, int count)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].own == own && kinds[i].by_spinner == by_spinner)
			disturb(&kinds[i], count);
}

static void *helper(void *count)
{
	pin(!cpu);
	disturb_all(true, false, *(int *)count);
	fflush(stdout);
	atomic_store(&beat->spinning, true);
	return NULL;
}

static void map_beat(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(*beat)))
		die(path);
	beat = mmap(NULL, sizeof(*beat), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (beat == MAP_FAILED)
		die("mmap");
	close(fd);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int count;

	if (argc != 5) {
		fprintf(stderr, "usage: disturb 0|1 BEAT COUNT own|foreign\n");
		return 2;
	}
	cpu = argv[1][0] != '0';
	map_beat(argv[2]);
	count = atoi(argv[3]); // NOLINT(cert-err34-c): a test gives it
	if (!strcmp(argv[4], "foreign")) {
		while (!atomic_load(&beat->spinning))
			rest(MS);
		pin(!cpu);
		disturb_all(false, false, count);
		atomic_store(&beat->stop, true);
		return 0;
	}
	pin(cpu);
	signal(SIGALRM, on_alarm);
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) ||
	    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0))
		die("membarrier");
	spin_until(now() + 500 * MS); /* the watch has begun */
	disturb_all(true, true, count);
	if (pthread_create(&thread, NULL, helper, &count))
		return 1;
	while (!atomic_load(&beat->stop))
		beat_once();
	pthread_join(thread, NULL);
	return 0;
}
