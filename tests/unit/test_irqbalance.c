/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The socket of irqbalance, against a stand-in that behaves as irqbalance 1.9.2 does: it checks the
 * sender's credentials, takes one message for a connection, shows a new list only after its next
 * scan (SIGUSR1 here), and takes no connection while it is stopped. Needs root: the socket and the
 * state directory are under /run.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "../../isolcore/facility.h"
#include "../../isolcore/irqbalance.h"
#include "../../isolcore/state.h"

struct fixture {
	struct system sys;
	pid_t pid;
	char *path;
	int lock;
};

static volatile sig_atomic_t scanned;

static void scan(int sig)
{
	(void)sig;
	scanned = 1;
}

/* What the stand-in keeps, as irqbalance does: the list that it was told, and what it bans. */
struct stand_in {
	struct cpumask own, told, banned;
	bool is_told;
};

static bool is_root(struct msghdr *msg)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
	struct ucred from;

	if (!cmsg || cmsg->cmsg_type != SCM_CREDENTIALS)
		return false;
	memcpy(&from, CMSG_DATA(cmsg), sizeof(from));
	return from.uid == 0;
}

static void answer(struct stand_in *self, int sock)
{
	static const char set[] = "settings cpus ";
	char buf[500 + 1] = "", control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec iov = { buf, sizeof(buf) - 1 };
	struct msghdr msg = { .msg_iov = &iov,
		              .msg_iovlen = 1,
		              .msg_control = control,
		              .msg_controllen = sizeof(control) };
	_cleanup_free_ char *hex = NULL;

	if (recvmsg(sock, &msg, 0) < 0 || !is_root(&msg))
		return;
	if (!strncmp(buf, set, strlen(set))) {
		self->is_told = strcmp(buf + strlen(set), "NULL") != 0;
		if (self->is_told && cpumask_parse_list(&self->told, buf + strlen(set)))
			abort();
	} else if (!strcmp(buf, "setup")) {
		hex = cpumask_hex(&self->banned);
		dprintf(sock, "SLEEP 10 IRQ 24 LOAD 0 DIFF 0 CLASS 0 BANNED %s", hex);
	}
}

static void run_stand_in(const char *own, int ready)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct sigaction action = { .sa_handler = scan };
	struct stand_in self = { .own = CPUMASK_INIT };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), on = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "irqbalance");
	sigaction(SIGUSR1, &action, NULL);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/run/irqbalance/irqbalance%d.sock",
	         getpid());
	if (cpumask_parse_list(&self.own, own) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) || listen(fd, 1))
		_exit(1);
	cpumask_copy(&self.banned, &self.own);
	if (write(ready, "r", 1) != 1)
		_exit(1);
	for (;;) {
		int sock = accept(fd, NULL, NULL);

		if (scanned)
			cpumask_copy(&self.banned, self.is_told ? &self.told : &self.own);
		scanned = 0;
		if (sock < 0)
			continue;
		answer(&self, sock);
		close(sock);
	}
}

static int start(void **state, const char *own)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	int ready[2];
	char byte;

	*state = f;
	f->lock = -1;
	if (geteuid())
		return 0;
	if ((mkdir("/run/irqbalance", 0755) && errno != EEXIST) || pipe(ready) ||
	    system_open(&f->sys, "/", NULL) || state_lock(&f->sys.root, NULL, &f->lock, NULL))
		return -1;
	f->pid = fork();
	if (!f->pid)
		run_stand_in(own, ready[1]);
	close(ready[1]);
	f->path = xasprintf("/run/irqbalance/irqbalance%d.sock", (int)f->pid);
	if (read(ready[0], &byte, 1) != 1)
		return -1;
	close(ready[0]);
	return 0;
}

static int start_plain(void **state)
{
	return start(state, "");
}

static int start_with_bans(void **state)
{
	return start(state, "3,70");
}

static int stop(void **state)
{
	struct fixture *f = *state;

	if (f->pid) {
		kill(f->pid, SIGKILL);
		waitpid(f->pid, NULL, 0);
		unlink(f->path);
		unlink(STATE_DIR "/irqbalance");
		close(f->lock);
		system_close(&f->sys);
	}
	free(f->path);
	free(f);
	return 0;
}

static struct fixture *need_root(void **state)
{
	struct fixture *f = *state;

	if (!f->pid)
		skip();
	return f;
}

static void assert_reads(struct fixture *f, const char *list)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_free_ char *value = NULL;

	assert_int_equal(knob_irqbalance.read(&f->sys, f->path, &value, &err), 0);
	assert_string_equal(value, list);
}

static void assert_writes(struct fixture *f, const char *list)
{
	_cleanup_error_ struct error err = ERROR_INIT;

	assert_int_equal(knob_irqbalance.write(&f->sys, f->path, list, &err), 0);
}

/* Lets the stand-in scan, and chisol forget what it told: what reads then is irqbalance's word. */
static void scan_and_forget(struct fixture *f)
{
	char *value = NULL;

	unlink(STATE_DIR "/irqbalance");
	/* Its answer comes after it has taken what was sent before. */
	assert_int_equal(knob_irqbalance.read(&f->sys, f->path, &value, NULL), 0);
	free(value);
	kill(f->pid, SIGUSR1);
}

static void the_plan_bans_the_union(void **state)
{
	struct fixture *f = need_root(state);
	_cleanup_plan_ struct plan plan = PLAN_INIT;
	struct request req = { .irq.policy = POLICY_TRY };
	size_t n_ours = 0;

	cpumask_set(&req.cpus.workload, 1);
	assert_int_equal(facility_irqbalance.plan(&plan, &f->sys, &req, "run", NULL), 0);
	plan_for_each (knob, &plan) {
		if (strcmp(knob->path, f->path) != 0)
			continue;
		n_ours++;
		assert_string_equal(knob->found, "3,70");
		assert_string_equal(knob->wanted, "1,3,70");
	}
	assert_int_equal(n_ours, 1);
	cpumask_free(&req.cpus.workload);
}

static void what_it_was_told_counts_before_it_shows_it(void **state)
{
	struct fixture *f = need_root(state);
	struct knob knob = { .type = &knob_irqbalance,
		             .path = f->path,
		             .wanted = (char *)(uintptr_t) "1,3,70",
		             .state = KNOB_GRANTED,
		             .reason = REASON_GRANTED };
	_cleanup_error_ struct error none = ERROR_INIT;

	assert_reads(f, "3,70");
	assert_writes(f, "1,3,70");
	assert_reads(f, "1,3,70");
	knob_irqbalance.judge(&f->sys, &knob, &none);
	assert_int_equal(knob.state, KNOB_PENDING);
	scan_and_forget(f);
	assert_reads(f, "1,3,70");
	free(knob.detail);
}

static void its_bans_are_put_back(void **state)
{
	struct fixture *f = need_root(state);

	assert_writes(f, "1,3,70");
	scan_and_forget(f);
	assert_reads(f, "1,3,70");
	assert_writes(f, "3,70");
	assert_reads(f, "3,70");
	scan_and_forget(f);
	assert_reads(f, "3,70");
}

static void no_bans_are_given_back_as_null_never_as_an_empty_list(void **state)
{
	struct fixture *f = need_root(state);

	assert_writes(f, "1");
	scan_and_forget(f);
	assert_reads(f, "1");
	assert_writes(f,
	              ""); /* an empty list would end the stand-in, as it does irqbalance 1.9.2 */
	assert_reads(f, "");
	scan_and_forget(f);
	assert_reads(f, "");
}

static void a_blocked_irqbalance_holds_nobody_up_who_knows_what_it_was_told(void **state)
{
	struct fixture *f = need_root(state);

	assert_writes(f, "1");
	kill(f->pid, SIGSTOP);
	for (int i = 0; i < 5; i++) /* more than its socket queues */
		assert_reads(f, "1");
	assert_writes(f, "");
	assert_reads(f, "");
	kill(f->pid, SIGCONT);
	scan_and_forget(f);
	assert_reads(f, "");
}

static void an_irqbalance_that_ended_reads_as_gone(void **state)
{
	struct fixture *f = need_root(state);
	_cleanup_error_ struct error err = ERROR_INIT;
	char *value = NULL;

	assert_writes(f, "1");
	kill(f->pid, SIGKILL);
	waitpid(f->pid, NULL, 0);
	assert_int_equal(knob_irqbalance.read(&f->sys, f->path, &value, &err), -ENOENT);
	assert_int_equal(knob_irqbalance.write(&f->sys, f->path, "", &err), -ENOENT);
}

static void a_list_that_it_would_cut_short_is_not_sent(void **state)
{
	struct fixture *f = need_root(state);
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_cpumask_ struct cpumask many = CPUMASK_INIT;
	_cleanup_free_ char *list = NULL;

	for (unsigned int cpu = 0; cpu < 500; cpu += 2)
		cpumask_set(&many, cpu);
	list = cpumask_list(&many);
	assert_int_equal(knob_irqbalance.write(&f->sys, f->path, list, &err), -E2BIG);
	scan_and_forget(f);
	assert_reads(f, "");
}

static void only_sockets_of_irqbalance_are_spoken_to(void **state)
{
	static const char *const bad[] = { "/run/systemd/private",
		                           "/run/irqbalance/irqbalance.sock",
		                           "/run/irqbalance/irqbalance1.sock/x",
		                           "/run/irqbalance/irqbalance-1.sock",
		                           "/run/irqbalance/irqbalance99999999999.sock",
		                           "/run/irqbalance/irqbalance1/../../x.sock" };
	struct system sys = SYSTEM_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char *value = NULL;

		assert_int_equal(knob_irqbalance.read(&sys, bad[i], &value, NULL), -EINVAL);
		assert_int_equal(knob_irqbalance.write(&sys, bad[i], "1", NULL), -EINVAL);
	}
}

/* As any user can, who calls his process irqbalance, too. */
static int abstract_socket(pid_t pid)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int len = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "irqbalance%d.sock",
	                   (int)pid);

	if (bind(fd, (struct sockaddr *)&addr,
	         (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) ||
	    listen(fd, 1))
		_exit(1);
	return fd;
}

static void a_socket_that_is_not_roots_is_not_spoken_to(void **state)
{
	struct fixture *f = need_root(state);
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_free_ char *path = NULL, *value = NULL;
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (setresuid(65534, 65534, 65534) || abstract_socket(getpid()) < 0 ||
		    write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	path = xasprintf("/run/irqbalance/irqbalance%d.sock", (int)pid);
	assert_int_equal(knob_irqbalance.read(&f->sys, path, &value, &err), -ENOENT);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* No chisol that a test starts may find the stand-in. */
static int lock_machine(void **state)
{
	int fd = open("/run/lock/chisol-tests.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	(void)state;
	return geteuid() ? 0 : flock(fd, LOCK_EX);
}

#define with(setup, test) cmocka_unit_test_setup_teardown(test, setup, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with(start_with_bans, the_plan_bans_the_union),
		with(start_with_bans, what_it_was_told_counts_before_it_shows_it),
		with(start_with_bans, its_bans_are_put_back),
		with(start_plain, no_bans_are_given_back_as_null_never_as_an_empty_list),
		with(start_plain, a_blocked_irqbalance_holds_nobody_up_who_knows_what_it_was_told),
		with(start_plain, an_irqbalance_that_ended_reads_as_gone),
		with(start_plain, a_list_that_it_would_cut_short_is_not_sent),
		cmocka_unit_test(only_sockets_of_irqbalance_are_spoken_to),
		with(start_plain, a_socket_that_is_not_roots_is_not_spoken_to),
	};

	return cmocka_run_group_tests_name("irqbalance", tests, lock_machine, NULL);
}
