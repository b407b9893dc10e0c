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
 * longer than the disturbance explains: on a busy machine others get in the way. And it counts only
 * if it happened: where the kernel counts what it brings (/proc/interrupts, /proc/softirqs), that
 * must have been counted.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS         1000000ull
#define SPACING    (3 * MS)
#define PATIENCE   (40000 * MS)  /* for all disturbances of a kind */
#define READY      (600000 * MS) /* until the spinner has done its part */
#define TURN       (1 * MS)      /* how long a task keeps the CPU */
#define LONG_TURN  (10 * MS)
#define WORK_PAGES 64

typedef unsigned long long u64;

/* What happened from start to end, on the thread tid. */
struct event {
	u64 start, end;
	pid_t tid;
};

struct beat {
	_Atomic u64 now;     /* when the spinner ran last */
	_Atomic u64 gap_end; /* of its last gap of more than 50 us ... */
	_Atomic u64 gap;     /* ... and its length */
	_Atomic bool spinning, signalled, stop;
	pid_t spinner;
	volatile char *page; /* that it reads all the time, in its address space */
};

static struct beat *beat;
static int cpu;
static bool own;            /* the command's own doing, or that of others? */
static int packets = -1;    /* a socket whose packets are received on the CPU */
static _Atomic u64 handled; /* when the signal handler ran */

static u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000 + (u64)ts.tv_nsec;
}

static void __attribute__((noreturn)) die(const char *what)
{
	perror(what);
	exit(1);
}

static void check(bool done, const char *what)
{
	if (!done)
		die(what);
}

static void pin_task(pid_t tid, int to)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(to, &set);
	check(!sched_setaffinity(tid, sizeof(set), &set), "sched_setaffinity");
}

static void pin(int to)
{
	pin_task(0, to);
}

static void set_policy(pid_t tid, int policy)
{
	const struct sched_param param = { .sched_priority = policy == SCHED_FIFO };

	check(!sched_setscheduler(tid, policy, &param), "sched_setscheduler");
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
	(void)*beat->page;
	atomic_store_explicit(&beat->now, t, memory_order_release);
}

static void spin_until(u64 end)
{
	while (now() < end)
		beat_once();
}

/* What the kernel counts on the CPU: a line of a file, which is known by a word in it. */
struct counter {
	const char *file, *word;
};

static const struct counter calls = { "/proc/interrupts", "Function call interrupts" };
static const struct counter reschedules = { "/proc/interrupts", "Rescheduling interrupts" };
static const struct counter timers = { "/proc/softirqs", "TIMER:" };
static const struct counter receives = { "/proc/softirqs", "NET_RX:" };

/* Lines have "NAME: COUNT COUNT...", one for each online CPU. */
static u64 count_of(const struct counter *counter)
{
	char line[8192], *at;
	u64 count = 0;
	FILE *f = fopen(counter->file, "re");

	check(f, counter->file);
	while (fgets(line, sizeof(line), f)) {
		at = strchr(line, ':');
		if (!at || !strstr(line, counter->word))
			continue;
		for (int i = 0; i <= cpu; i++)
			count = strtoull(at + 1, &at, 10);
		break;
	}
	fclose(f);
	return count;
}

static char *map_pages(size_t n)
{
	char *p = mmap(NULL, n * (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED, "mmap");
	return p;
}

static void wait_for_spinner(void)
{
	while (now() - atomic_load(&beat->now) > 10000)
		;
}

static void own_membarrier(struct event *event)
{
	(void)event;
	check(!syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0), "membarrier");
}

/*
 * Where a thread of the spinner's process ends, the kernel forgets that the process takes part in
 * the barriers of others, until a task of another process has run there: exit_mm() clears what
 * membarrier_switch_mm() sets only if the address space changes (seen with 6.18). So run there.
 */
static void foreign_membarrier(struct event *event)
{
	pin(cpu);
	pin(!cpu);
	wait_for_spinner();
	event->start = now();
	check(!syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0), "membarrier");
	event->end = now();
}

static void act_mprotect(struct event *event)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = map_pages(1);

	*p = 1;
	event->start = now();
	check(!mprotect(p, page, PROT_READ), "mprotect");
	event->end = now();
	munmap(p, page);
}

static void act_munmap(struct event *event)
{
	char *p = map_pages(1);

	*p = 1;
	event->start = now();
	check(!munmap(p, (size_t)sysconf(_SC_PAGESIZE)), "munmap");
	event->end = now();
}

static void own_madvise(struct event *event)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = map_pages(1);

	*p = 1;
	event->start = now();
	check(!madvise(p, page, MADV_DONTNEED), "madvise");
	event->end = now();
	munmap(p, page);
}

/* Another process can have the kernel look at which pages the spinner uses. */
static void foreign_madvise(struct event *event)
{
	const struct iovec page = { (void *)beat->page, (size_t)sysconf(_SC_PAGESIZE) };
	int fd = (int)syscall(SYS_pidfd_open, beat->spinner, 0);

	check(fd >= 0, "pidfd_open");
	event->start = now();
	check(syscall(SYS_process_madvise, fd, &page, 1, MADV_COLD, 0) >= 0, "process_madvise");
	event->end = now();
	close(fd);
}

static void act_fork(struct event *event)
{
	pid_t pid = fork();

	(void)event;
	check(pid >= 0, "fork");
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

static void on_alarm(int sig)
{
	(void)sig;
	atomic_store(&handled, now());
}

static void on_signal(int sig)
{
	(void)sig;
	atomic_store(&beat->signalled, true);
}

static void act_timer_signal(struct event *event)
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
	volatile char *p = map_pages(1);

	event->start = now();
	*p = 1;
	event->end = now();
	munmap((void *)p, (size_t)sysconf(_SC_PAGESIZE));
}

static void act_sleep(struct event *event)
{
	(void)event;
	rest(MS);
}

/* Takes the spinner's CPU for a while. */
static void take_turn(struct event *event, u64 length)
{
	pin(cpu);
	event->tid = (pid_t)syscall(SYS_gettid);
	event->start = now();
	while (now() < event->start + length)
		;
	event->end = now();
	pin(!cpu);
}

static void act_task(struct event *event)
{
	take_turn(event, TURN);
}

static void act_hog(struct event *event)
{
	take_turn(event, LONG_TURN);
}

static void act_fifo(struct event *event)
{
	set_policy(0, SCHED_FIFO);
	take_turn(event, TURN);
	set_policy(0, SCHED_OTHER);
}

/* The spinner is real-time, and the scheduler gives others a share of the CPU all the same: by the
 * fair server (Linux 6.8), or by throttling. */
static void act_share(struct event *event)
{
	set_policy(beat->spinner, SCHED_FIFO);
	take_turn(event, TURN);
	set_policy(beat->spinner, SCHED_OTHER);
}

static int child_turn(void *event)
{
	take_turn(event, TURN);
	return 0;
}

/* A process of its own in the same memory: no page is copied, which the spinner would wait for. */
static void act_child(struct event *event)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid = clone(child_turn, stack + sizeof(stack), CLONE_VM | SIGCHLD, event);

	check(pid >= 0, "clone");
	waitpid(pid, NULL, 0);
}

static u64 woken;

/* A task that sleeps on the CPU and is woken from another. */
static void *be_woken(void *arg)
{
	sem_t *sems = arg;

	set_policy(0, SCHED_FIFO);
	pin(cpu);
	sem_post(&sems[0]);
	sem_wait(&sems[1]);
	woken = now();
	return NULL;
}

static void act_wake(struct event *event)
{
	pthread_t thread;
	sem_t sems[2];

	check(!sem_init(&sems[0], 0, 0) && !sem_init(&sems[1], 0, 0), "sem_init");
	errno = pthread_create(&thread, NULL, be_woken, sems);
	check(!errno, "pthread_create");
	sem_wait(&sems[0]);
	rest(MS);
	event->start = now();
	sem_post(&sems[1]);
	pthread_join(thread, NULL);
	event->end = woken;
}

static void act_signal(struct event *event)
{
	(void)event;
	atomic_store(&beat->signalled, false);
	check(!syscall(SYS_tgkill, beat->spinner, beat->spinner, SIGUSR1), "tgkill");
	while (!atomic_load(&beat->signalled))
		;
}

/* Goes to sleep on the CPU, and is woken by its timer there. */
static void act_sleeper(struct event *event)
{
	pin(cpu);
	event->start = now();
	rest(MS);
	event->end = now();
	pin(!cpu);
}

/* Arms a timer on the CPU, and waits for it elsewhere. */
static void act_alarm(struct event *event)
{
	const struct itimerspec soon = { .it_value.tv_nsec = 2 * MS };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t times;

	check(fd >= 0, "timerfd_create");
	pin(cpu);
	event->start = now();
	timerfd_settime(fd, 0, &soon, NULL);
	pin(!cpu);
	check(read(fd, &times, sizeof(times)) == sizeof(times), "read");
	event->end = now();
	close(fd);
}

static int open_socket(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
		                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(any);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	check(fd >= 0 && !bind(fd, (struct sockaddr *)&any, sizeof(any)) &&
	              !getsockname(fd, (struct sockaddr *)&any, &len) &&
	              !connect(fd, (struct sockaddr *)&any, len),
	      "socket");
	return fd;
}

/* A timer of the kernel's wheel on the CPU: those of sockets are some. */
static void act_receive_timeout(struct event *event)
{
	const struct timeval soon = { .tv_usec = 1000 };
	int fd = open_socket();
	char byte;

	check(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)), "setsockopt");
	pin(cpu);
	event->start = now();
	check(recv(fd, &byte, 1, 0) < 0 && errno == EAGAIN, "recv");
	event->end = now();
	pin(!cpu);
	close(fd);
}

/* The loopback of a network of its own, whose packets the CPU receives. */
static void prepare_packets(void)
{
	static const char path[] = "/sys/class/net/lo/queues/rx-0/rps_cpus";
	struct ifreq up = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	FILE *f = NULL;
	int fd;

	check(!unshare(CLONE_NEWNET | CLONE_NEWNS), "unshare");
	check(!mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "mount");
	check(!mount("none", "/sys", "sysfs", 0, NULL), "mount sysfs");
	f = fopen(path, "we");
	check(f && fprintf(f, "%x\n", 1u << cpu) > 0 && !fclose(f), path);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	check(fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &up), "lo");
	close(fd);
	packets = open_socket();
}

static void act_packet(struct event *event)
{
	char byte = 0;

	(void)event;
	check(send(packets, &byte, 1, 0) == 1 && recv(packets, &byte, 1, 0) == 1, "packet");
}

static void act_stat_refresh(struct event *event)
{
	int fd = open("/proc/sys/vm/stat_refresh", O_WRONLY | O_CLOEXEC);

	(void)event;
	check(fd >= 0 && write(fd, "1\n", 2) == 2, "/proc/sys/vm/stat_refresh");
	close(fd);
}

static void act_mlock(struct event *event)
{
	size_t size = WORK_PAGES * (size_t)sysconf(_SC_PAGESIZE);
	char *p = map_pages(WORK_PAGES);

	event->start = now();
	check(!mlock(p, size), "mlock");
	event->end = now();
	munmap(p, size);
}

static void act_mlockall(struct event *event)
{
	(void)event;
	check(!mlockall(MCL_CURRENT) && !munlockall(), "mlockall");
}

static int open_perf(struct perf_event_attr *attr, pid_t pid, int on)
{
	int fd;

	attr->size = sizeof(*attr);
	attr->type = PERF_TYPE_SOFTWARE;
	fd = (int)syscall(SYS_perf_event_open, attr, pid, on, -1, PERF_FLAG_FD_CLOEXEC);
	check(fd >= 0, "perf_event_open");
	return fd;
}

static void act_perf_event(struct event *event)
{
	(void)event;
	close(open_perf(&(struct perf_event_attr){ .config = PERF_COUNT_SW_DUMMY }, -1, cpu));
}

/* The first event of a kind makes the kernel change its code. */
static void act_static_key(struct event *event)
{
	(void)event;
	close(open_perf(&(struct perf_event_attr){ .config = PERF_COUNT_SW_PAGE_FAULTS_MAJ }, 0,
	                -1));
}

/* A sampling clock on the CPU, until its first sample. */
static void sample(unsigned int wakeup)
{
	struct perf_event_attr attr = { .config = PERF_COUNT_SW_CPU_CLOCK,
		                        .sample_period = 300000,
		                        .sample_type = PERF_SAMPLE_TIME,
		                        .wakeup_events = wakeup };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = open_perf(&attr, -1, cpu);
	struct perf_event_mmap_page *p =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	check(p != MAP_FAILED, "mmap of a perf event");
	while (!__atomic_load_n(&p->data_head, __ATOMIC_ACQUIRE))
		rest(MS / 10);
	munmap(p, 2 * page);
	close(fd);
}

static void act_perf_clock(struct event *event)
{
	(void)event;
	sample(1000000);
}

static void act_perf_wakeup(struct event *event)
{
	(void)event;
	sample(1);
}

static void act_affinity(struct event *event)
{
	(void)event;
	pin_task(beat->spinner, !cpu);
	pin_task(beat->spinner, cpu);
}

enum place {
	BY_SPINNER = 1,
	BY_HELPER = 2,  /* another thread of the spinner's process, on another CPU */
	BY_FOREIGN = 4, /* another process, on another CPU */
};

struct kind {
	const char *name;
	unsigned int places;
	const char *cause;             /* NULL: nothing that is certain to happen */
	const char *foreign_cause;     /* by another process; NULL: the same */
	u64 longest_gap;               /* of the spinner, while this happens */
	const struct counter *counted; /* NULL: it happens for sure */
	void (*act)(struct event *event);
};

static const struct kind kinds[] = {
	{ "timer signal", BY_SPINNER, "program-timer", NULL, MS / 2, NULL, act_timer_signal },
	{ "page fault", BY_SPINNER, "page-fault", NULL, MS / 5, NULL, act_fault },
	{ "sleep", BY_SPINNER, "sleep", NULL, 5 * MS, NULL, act_sleep },
	{ "membarrier", BY_HELPER, "membarrier", NULL, MS / 5, &calls, own_membarrier },
	{ "membarrier", BY_FOREIGN, "membarrier", NULL, 5 * MS, &calls, foreign_membarrier },
	{ "mprotect", BY_HELPER, "tlb-shootdown", NULL, MS / 5, &calls, act_mprotect },
	{ "munmap", BY_HELPER, "tlb-shootdown", NULL, MS / 5, &calls, act_munmap },
	{ "madvise", BY_HELPER, "tlb-shootdown", NULL, MS / 5, &calls, own_madvise },
	{ "madvise", BY_FOREIGN, "tlb-shootdown", NULL, MS / 5, &calls, foreign_madvise },
	{ "fork", BY_HELPER, "tlb-shootdown", NULL, MS, &calls, act_fork },
	{ "child's turn", BY_HELPER, "own-thread", NULL, 8 * MS, NULL, act_child },
	{ "task's turn", BY_HELPER | BY_FOREIGN, "own-thread", "task", 8 * MS, NULL, act_task },
	{ "hog", BY_HELPER | BY_FOREIGN, "own-thread", "task", 20 * MS, NULL, act_hog },
	{ "FIFO task", BY_HELPER | BY_FOREIGN, "own-thread", "rt-task", 8 * MS, NULL, act_fifo },
	{ "share of the CPU", BY_FOREIGN, "task", NULL, 80 * MS, NULL, act_share },
	{ "wake-up", BY_HELPER | BY_FOREIGN, "reschedule", NULL, MS, &reschedules, act_wake },
	{ "signal", BY_HELPER | BY_FOREIGN, "reschedule", NULL, MS, &reschedules, act_signal },
	{ "sleeper", BY_HELPER | BY_FOREIGN, "sleep-timer", NULL, 5 * MS, NULL, act_sleeper },
	{ "alarm", BY_HELPER | BY_FOREIGN, "program-timer", NULL, 5 * MS, NULL, act_alarm },
	{ "receive timeout", BY_FOREIGN, "softirq-timer", NULL, 5 * MS, &timers,
	  act_receive_timeout },
	{ "packet", BY_FOREIGN, "softirq-net", NULL, MS, &receives, act_packet },
	{ "stat_refresh", BY_FOREIGN, "vmstat", NULL, 5 * MS, NULL, act_stat_refresh },
	{ "perf event", BY_HELPER | BY_FOREIGN, "perf-control", NULL, MS, &calls, act_perf_event },
	{ "static key", BY_HELPER | BY_FOREIGN, "text-patch", NULL, MS, &calls, act_static_key },
	{ "perf clock", BY_FOREIGN, "perf", NULL, MS, NULL, act_perf_clock },
	{ "perf wake-up", BY_FOREIGN, "irq-work", NULL, MS, NULL, act_perf_wakeup },
	/* Twice, as others get the CPU meanwhile, of some of which a kernel may tell nothing. */
	{ "affinity", BY_FOREIGN, "migration", NULL, 20 * MS, NULL, act_affinity },
	{ "affinity", BY_FOREIGN, "migration", NULL, 20 * MS, NULL, act_affinity },
	{ "mlock", BY_SPINNER | BY_HELPER | BY_FOREIGN, NULL, NULL, 5 * MS, NULL, act_mlock },
	{ "mlockall", BY_HELPER | BY_FOREIGN, NULL, NULL, 5 * MS, NULL, act_mlockall },
};

/* Did the spinner run before and after, without a gap that something else must have made? */
static bool is_clean(const struct kind *kind, bool by_spinner, u64 since)
{
	u64 end = now();

	while (!by_spinner && atomic_load(&beat->now) < end)
		;
	return atomic_load(&beat->gap_end) < since || atomic_load(&beat->gap) < kind->longest_gap;
}

static void print_event(const struct kind *kind, bool by_spinner, const struct event *event)
{
	const char *cause = own || !kind->foreign_cause ? kind->cause : kind->foreign_cause;
	const char *quote = cause ? "\"" : "";

	printf("{\"kind\":\"%s%s\",\"cause\":%s%s%s,\"self\":%s,\"start\":%llu,\"end\":%llu,"
	       "\"pid\":%d}\n",
	       by_spinner ? ""
	       : own      ? "own "
	                  : "foreign ",
	       kind->name, quote, cause ? cause : "null", quote, own ? "true" : "false",
	       event->start, event->end, (int)event->tid);
}

static void disturb(const struct kind *kind, bool by_spinner, int count)
{
	u64 deadline = now() + PATIENCE;

	for (int n = 0; n < count && now() < deadline;) {
		struct event event = { 0 };
		u64 start, before = 0;

		if (by_spinner)
			spin_until(now() + SPACING);
		else
			rest(SPACING);
		if (kind->counted)
			before = count_of(kind->counted);
		if (!by_spinner)
			wait_for_spinner();
		start = now();
		kind->act(&event);
		if (!event.start)
			event.start = start;
		if (!event.end)
			event.end = now();
		if (by_spinner)
			beat_once();
		if (!is_clean(kind, by_spinner, start) ||
		    (kind->counted && count_of(kind->counted) == before))
			continue;
		print_event(kind, by_spinner, &event);
		n++;
	}
}

static void disturb_all(enum place place, int count)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].places & place)
			disturb(&kinds[i], place == BY_SPINNER, count);
	fflush(stdout);
}

static void *help(void *count)
{
	pin(!cpu);
	disturb_all(BY_HELPER, *(int *)count);
	atomic_store(&beat->spinning, true);
	return NULL;
}

static void map_beat(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	check(fd >= 0 && !ftruncate(fd, sizeof(*beat)), path);
	beat = mmap(NULL, sizeof(*beat), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(beat != MAP_FAILED, "mmap");
	close(fd);
}

static void be_foreign(int count)
{
	pin(!cpu);
	for (u64 deadline = now() + READY; !atomic_load(&beat->spinning); rest(MS))
		check(now() < deadline, "no spinner");
	prepare_packets();
	disturb_all(BY_FOREIGN, count);
	atomic_store(&beat->stop, true);
}

static void be_own(int count)
{
	pthread_t thread;

	own = true;
	pin(cpu);
	beat->spinner = getpid();
	beat->page = map_pages(WORK_PAGES);
	memset((char *)beat->page, 1, WORK_PAGES * (size_t)sysconf(_SC_PAGESIZE));
	signal(SIGALRM, on_alarm);
	signal(SIGUSR1, on_signal);
	check(!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) &&
	              !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0),
	      "membarrier");
	spin_until(now() + 500 * MS); /* the watch has begun */
	disturb_all(BY_SPINNER, count);
	errno = pthread_create(&thread, NULL, help, &count);
	check(!errno, "pthread_create");
	while (!atomic_load(&beat->stop))
		beat_once();
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	int count;

	if (argc != 5) {
		fprintf(stderr, "usage: disturb 0|1 BEAT COUNT own|foreign\n");
		return 2;
	}
	cpu = argv[1][0] != '0';
	map_beat(argv[2]);
	count = atoi(argv[3]); // NOLINT(cert-err34-c): a test gives it
	/* Of others on a busy machine little is to get in the way; the two have the same share. */
	check(!setpriority(PRIO_PROCESS, 0, -20), "setpriority");
	if (!strcmp(argv[4], "foreign"))
		be_foreign(count);
	else
		be_own(count);
	return 0;
}
