/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * habits HABIT [ARGUMENT]: a program that does one of the things that programs do, to be followed
 * by chisol --probe=thread. It checks itself that nobody is in its way, and then exits with 0; what
 * it did not get as it would have it otherwise it says.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_CALLS 500

static atomic_bool stop;
static const char *argument;

static void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "habits: %s (errno: %s)\n", what, strerror(errno));
	exit(9);
}

static void pause_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts))
		;
}

static pthread_t begin(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	check(!pthread_create(&thread, NULL, run, arg), "no thread");
	return thread;
}

static void *nothing(void *arg)
{
	return arg;
}

static void *spin(void *arg)
{
	prctl(PR_SET_NAME, "spinner");
	while (!stop)
		;
	return arg;
}

static void go_to_housekeeping(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET((size_t)atoi(getenv("CHISOL_HOUSEKEEPING_CPUS")), &cpus);
	check(!sched_setaffinity(0, sizeof(cpus), &cpus), "no housekeeping CPU");
}

static void *interrupt_others(void *arg)
{
	go_to_housekeeping();
	prctl(PR_SET_NAME, "culprit");
	for (int i = 0; i < N_CALLS; i++) {
		char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		                  -1, 0);

		check(page != MAP_FAILED, "no memory");
		*page = 1;
		check(!munmap(page, 4096), "no munmap");
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	}
	return arg;
}

/* One thread interrupts another one; the main thread is out of the way. */
static void be_ones_own_enemy(void)
{
	pthread_t spinner = begin(spin, NULL);

	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	pause_ms(500);
	pthread_join(begin(interrupt_others, NULL), NULL);
	stop = true;
	pthread_join(spinner, NULL);
}

/* The only thread on the workload's CPUs calls these itself: nobody else is disturbed. */
static void interrupt_nobody(void)
{
	pause_ms(500);
	for (int i = 0; i < N_CALLS; i++)
		munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
}

static void make_a_thousand_threads(void)
{
	pthread_t threads[100];

	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 100; i++)
			threads[i] = begin(nothing, NULL);
		for (int i = 0; i < 100; i++)
			pthread_join(threads[i], NULL);
	}
}

static void *say_bye(void *arg)
{
	pause_ms(300);
	puts("bye");
	return arg;
}

/* The process ends with the last of the others, by exit(). */
static void end_the_main_thread(void)
{
	begin(say_bye, NULL);
	pthread_exit(NULL);
}

static void become_another(void)
{
	pause_ms(300);
	execlp("sleep", "sleep", "1", (char *)NULL);
}

static void fork_children(void)
{
	int status;

	for (int i = 0; i < 30; i++) {
		pid_t pid = fork();

		if (!pid) {
			pthread_join(begin(nothing, NULL), NULL);
			_exit(3);
		}
		check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3, "a bad child");
	}
	check(waitpid(-1, &status, __WALL) < 0 && errno == ECHILD, "an unknown child");
}

static void become_a_daemon(void)
{
	check(!daemon(0, 0), "no daemon");
	pause_ms(500);
}

static void close_everything(void)
{
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	pause_ms(500);
	for (int fd = 0; fd < 100; fd++)
		if (open("/dev/null", O_RDWR) != fd)
			_exit(9);
}

/* While another thread opens and closes, the lowest descriptor is this program's to get. */
static void count_descriptors(void)
{
	for (int i = 0; i < 20000; i++) {
		int fd = dup(0);

		check(fd == 3, "a descriptor that is not the lowest");
		close(fd);
	}
}

static atomic_int n_signals;

static void note_signal(int sig)
{
	(void)sig;
	n_signals++;
}

/* Signals for the process find the main thread, or wait until it takes them. */
static void handle_signals(void)
{
	sigset_t one;
	int sig;

	signal(SIGUSR1, note_signal);
	for (int i = 0; i < 1000; i++) {
		kill(getpid(), SIGUSR1);
		check(n_signals == i + 1, "a signal that went elsewhere");
	}
	sigemptyset(&one);
	sigaddset(&one, SIGUSR2);
	sigprocmask(SIG_BLOCK, &one, NULL);
	kill(getpid(), SIGUSR2);
	pause_ms(200);
	check(!sigwait(&one, &sig) && sig == SIGUSR2, "a signal that is gone");
}

/* As the runtime of Go: many threads, with alternate stacks and masks of their own, which signal
 * each other to preempt. */
static void *work(void *arg)
{
	stack_t stack = { .ss_size = 65536, .ss_sp = malloc(65536) };
	sigset_t all;

	sigaltstack(&stack, NULL);
	sigfillset(&all);
	sigdelset(&all, SIGURG);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	while (!stop)
		sched_yield();
	return arg;
}

static void run_many_threads(void)
{
	struct sigaction preempt = { .sa_handler = note_signal,
		                     .sa_flags = SA_ONSTACK | SA_RESTART };
	pthread_t threads[64];

	sigaction(SIGURG, &preempt, NULL);
	for (int i = 0; i < 64; i++)
		threads[i] = begin(work, NULL);
	for (int i = 0; i < 640; i++) {
		check(!pthread_kill(threads[i % 64], SIGURG), "no thread to signal");
		pause_ms(1);
	}
	stop = true;
	for (int i = 0; i < 64; i++)
		pthread_join(threads[i], NULL);
	check(n_signals > 0, "no signal");
}

/* All threads have the same, and nobody is left behind with more. */
static void drop_privileges(void)
{
	char line[256];
	FILE *pipe;

	pause_ms(300);
	check(!setgroups(0, NULL), "no setgroups");
	check(!setresgid(65534, 65534, 65534), "no setresgid");
	check(!setresuid(65534, 65534, 65534), "no setresuid");
	pause_ms(300);
	pipe = popen("grep -h '^[UG]id:' /proc/$PPID/task/*/status", "r");
	check(pipe != NULL, "no pipe");
	while (fgets(line, sizeof(line), pipe))
		check(!strcmp(line + 4, "\t65534\t65534\t65534\t65534\n"), "another user");
	check(!pclose(pipe), "no threads");
	check(setuid(0) < 0 && errno == EPERM, "a way back");
}

/* glibc waits for each thread to change its credentials, and tells it by a signal. */
static void *be_slow(void *arg)
{
	const unsigned long all = ~0ul, none = 0;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	pause_ms(900);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
	return arg;
}

static void set_user_slowly(void)
{
	pthread_t slow = begin(be_slow, NULL);

	pause_ms(300);
	check(!setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1), "no setresuid");
	pthread_join(slow, NULL);
	pause_ms(500);
	raise(SIGKILL);
}

/* With nothing in it, not even /proc. */
static void go_to_jail(void)
{
	pause_ms(300);
	check(!chroot(argument), "no chroot");
	check(!setresuid(65534, 65534, 65534), "no setresuid");
	pause_ms(300);
}

static void enter(const char *path, int type)
{
	int fd = open(path, O_RDONLY);

	check(!setns(fd, type), "no setns");
	check(!syscall(SYS_setns, fd, type), "no setns by number");
	close(fd);
}

/* That it is in already; threads are not in the way. */
static void enter_network(void)
{
	pause_ms(300);
	enter("/proc/self/ns/net", CLONE_NEWNET);
	enter("/proc/self/ns/uts", CLONE_NEWUTS);
	pause_ms(300);
}

static void enter_mounts(void)
{
	pause_ms(300);
	enter("/proc/self/ns/mnt", argument ? 0 : CLONE_NEWNS);
	pause_ms(300);
}

static void *allocate_nothing(void *arg)
{
	while (!stop)
		pause_ms(10);
	return arg;
}

/* An arena of malloc()'s is made by mmap() and munmap(). */
static void count_arenas(void)
{
	pthread_t threads[8];
	char *info = NULL, *heap;
	size_t size, n = 0;
	FILE *out;

	for (int i = 0; i < 8; i++)
		threads[i] = begin(allocate_nothing, NULL);
	pause_ms(300);
	out = open_memstream(&info, &size);
	check(out && !malloc_info(0, out) && !fclose(out), "no information on malloc");
	for (heap = info; (heap = strstr(heap, "<heap nr=")); heap++)
		n++;
	check(n == 1, "arenas for threads that do not allocate");
	stop = true;
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
}

static void *leave(void *arg)
{
	pthread_exit(arg);
}

static void *wait_to_be_cancelled(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Ends that unwind the stack. */
static void end_threads_early(void)
{
	void *result;

	for (int i = 0; i < 50; i++) {
		pthread_t thread = begin(i % 2 ? leave : wait_to_be_cancelled, &result);

		if (i % 2 == 0)
			pthread_cancel(thread);
		check(!pthread_join(thread, &result), "no join");
		check(result == (i % 2 ? &result : PTHREAD_CANCELED), "another result");
	}
}

static void unshare_users(void)
{
	pause_ms(300);
	check(!unshare(CLONE_NEWUSER), "not single-threaded");
	pause_ms(300);
}

/* A filter that kills who makes one of these calls. */
static void filter(unsigned int flags, const unsigned int *numbers, size_t n)
{
	struct {
		unsigned short code;
		unsigned char jt, jf;
		unsigned int k;
	} code[32] = { { 0x20, 0, 0, 0 } }; /* the number */
	struct {
		unsigned short n;
		void *code;
	} program = { (unsigned short)(2 * n + 2), code };

	for (size_t i = 0; i < n; i++) {
		code[2 * i + 1].code = 0x15; /* is it this one? */
		code[2 * i + 1].jf = 1;
		code[2 * i + 1].k = numbers[i];
		code[2 * i + 2].code = 0x06;
		code[2 * i + 2].k = 0x80000000; /* kill the process */
	}
	code[2 * n + 1].code = 0x06;
	code[2 * n + 1].k = 0x7fff0000; /* allow */
	check(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no no_new_privs");
	check(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program), "no filter");
}

static void filter_all(void)
{
	const unsigned int opens[] = { SYS_openat };

	pause_ms(300);
	filter(SECCOMP_FILTER_FLAG_TSYNC, opens, 1);
	pause_ms(500);
}

/* What neither this program nor libc calls from now on. */
static const unsigned int foreign_calls[] = { SYS_gettid,      SYS_getpid, SYS_getrusage,
	                                      SYS_sched_yield, SYS_tgkill, SYS_getcpu,
	                                      SYS_prctl };

static void *filter_thread(void *arg)
{
	filter(0, foreign_calls, sizeof(foreign_calls) / sizeof(*foreign_calls));
	munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
	return arg;
}

/* Threads that end under a filter, and that begin under one; the main one is the last. */
static void filter_threads(void)
{
	pause_ms(300);
	pthread_join(begin(filter_thread, NULL), NULL);
	filter_thread(NULL);
	for (int i = 0; i < 10; i++)
		pthread_join(begin(nothing, NULL), NULL);
	puts("bye");
	fflush(stdout);
	pthread_exit(NULL);
}

/* As libseccomp does, to know what the kernel knows: no filter is put on. */
static void ask_for_filters(void)
{
	pause_ms(300);
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) < 0 && errno == EFAULT,
	      "a filter by prctl()");
	check(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) < 0 &&
	              errno == EFAULT,
	      "a filter");
	pause_ms(300);
}

static void *set_user(void *arg)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	pthread_cancel(pthread_self());
	pause_ms(300);
	pthread_setcancelstate(before, NULL);
	check(!setuid(getuid()), "no setuid");
	stop = true;
	pthread_testcancel();
	return arg;
}

/* setuid() is no place where a thread is cancelled. */
static void cancel_late(void)
{
	void *result;

	pthread_join(begin(set_user, NULL), &result);
	check(stop && result == PTHREAD_CANCELED, "cancelled too early, or not at all");
	pause_ms(300);
}

static void die(void)
{
	pause_ms(400);
	raise(SIGKILL);
}

static void wait_for_the_end(void)
{
	puts("waiting");
	fflush(stdout);
	for (;;)
		;
}

static void *with_own_name(void *arg)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *name = page + 4096 - (strlen(argument) < 15 ? strlen(argument) + 1 : 15);

	/* The kernel takes 15 bytes, and what is behind them need not be there. */
	check(page != MAP_FAILED && !munmap(page + 4096, 4096), "no memory");
	memcpy(name, argument, (size_t)(page + 4096 - name));
	prctl(PR_SET_NAME, name);
	pause_ms(300);
	return arg;
}

static void name_itself(void)
{
	pthread_join(begin(with_own_name, NULL), NULL);
}

static void *wait_and_call(void *arg)
{
	pause_ms(300);
	munlock(NULL, 0);
	pause_ms(300);
	return arg;
}

static void name_another(void)
{
	pthread_t thread = begin(wait_and_call, NULL);

	check(!pthread_setname_np(thread, argument), "no name");
	pthread_join(thread, NULL);
}

static const struct {
	const char *name;
	void (*follow)(void);
} habits[] = {
	{ "own-enemy", be_ones_own_enemy },
	{ "nobodys-enemy", interrupt_nobody },
	{ "thousand", make_a_thousand_threads },
	{ "end-main", end_the_main_thread },
	{ "exec", become_another },
	{ "fork", fork_children },
	{ "daemon", become_a_daemon },
	{ "close-all", close_everything },
	{ "descriptors", count_descriptors },
	{ "signals", handle_signals },
	{ "many", run_many_threads },
	{ "early", end_threads_early },
	{ "drop", drop_privileges },
	{ "slow-user", set_user_slowly },
	{ "jail", go_to_jail },
	{ "enter-network", enter_network },
	{ "enter-mounts", enter_mounts },
	{ "arenas", count_arenas },
	{ "unshare", unshare_users },
	{ "filter", filter_all },
	{ "filter-threads", filter_threads },
	{ "ask-for-filters", ask_for_filters },
	{ "cancel", cancel_late },
	{ "die", die },
	{ "wait", wait_for_the_end },
	{ "name", name_itself },
	{ "name-another", name_another },
};

int main(int argc, char **argv)
{
	argument = argc > 2 ? argv[2] : NULL;
	for (size_t i = 0; argc > 1 && i < sizeof(habits) / sizeof(*habits); i++) {
		if (strcmp(argv[1], habits[i].name) != 0)
			continue;
		habits[i].follow();
		return 0;
	}
	fputs("habits: which?\n", stderr);
	return 9;
}
