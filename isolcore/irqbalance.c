/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "irqbalance.h"

#include "facility.h"
#include "process.h"
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

#define SOCKET_DIR    "/run/irqbalance"
#define SOCKET_PREFIX SOCKET_DIR "/irqbalance"
#define SOCKET_SUFFIX ".sock"
#define TOLD_FILE     "irqbalance"

/*
 * The handler of the socket may be blocked for as long as irqbalance sleeps (10 s by default; fixed
 * after 1.9.2). Hanging up before the answer is no way out: sending it would end an irqbalance that
 * does not ignore SIGPIPE.
 */
#define PATIENCE_S 15

/* irqbalance up to 1.9.2 reads at most so much of a message and drops the rest. */
#define MESSAGE_MAX 500
/* It prints the mask of banned CPUs into 512 bytes, and beyond them if it is longer: 56 groups of
 * 8 digits and a comma fit. */
#define SAFE_CPUS   1792 /* 56 * 32 */
/* Far more than its answer to "setup" takes, which has a line of each banned interrupt. */
#define ANSWER_MAX  (1u << 20)

/* The answer to "setup". */
struct setup {
	unsigned int interval; /* seconds between scans */
	struct cpumask banned;
};

static void setup_free(struct setup *setup)
{
	cpumask_free(&setup->banned);
}
#define _cleanup_setup_ _cleanup_(setup_free)

/* What irqbalance was told last, by this or another chisol. */
struct told {
	pid_t pid;
	unsigned long long start_time;
	unsigned int interval;   /* seconds between its scans */
	unsigned long long when; /* seconds of CLOCK_MONOTONIC */
	char *list;              /* NULL: nothing is known */
};

static void told_free(struct told *told)
{
	free(told->list);
}
#define _cleanup_told_ _cleanup_(told_free)

static unsigned long long monotonic_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec;
}

/* The process of a socket; only paths that irqbalance makes are taken. */
static int pid_of_path(const char *path, pid_t *pid, struct error *err)
{
	const char *number = path + strlen(SOCKET_PREFIX);
	char *end;
	unsigned long value;

	if (!strncmp(path, SOCKET_PREFIX, strlen(SOCKET_PREFIX)) && *number >= '1' &&
	    *number <= '9') {
		errno = 0;
		value = strtoul(number, &end, 10);
		*pid = (pid_t)value;
		if (!errno && value <= INT_MAX && !strcmp(end, SOCKET_SUFFIX))
			return 0;
	}
	return error_set(err, EINVAL, "\"%.100s\" is not a socket of irqbalance", path);
}

static int set_timeouts(int fd)
{
	struct timeval limit = { .tv_sec = PATIENCE_S };

	return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ||
	       setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

/* Anybody may have an abstract socket of that name. */
static bool is_trusted(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) &&
	       (peer.uid == 0 || peer.uid == geteuid());
}

/* irqbalance 1.2 to 1.5 has an abstract socket with the file's name. */
static int connect_socket(int fd, const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *name = strrchr(path, '/') + 1;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path) + 1);
	if (!connect(fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return 0;
	if (errno != ENOENT)
		return -errno;
	memset(addr.sun_path, 0, sizeof(addr.sun_path));
	memcpy(addr.sun_path + 1, name, strlen(name));
	if (!connect(fd, (const struct sockaddr *)&addr,
	             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name))))
		return is_trusted(fd) ? 0 : -ENOENT;
	return -errno;
}

/* Exactly one message for a connection, with the sender's credentials: irqbalance looks for uid
 * 0. */
static int send_message(int fd, const char *message)
{
	struct ucred self = { .pid = getpid(), .uid = geteuid(), .gid = getegid() };
	struct iovec iov = { (void *)(uintptr_t)message, strlen(message) };
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(self))];
	} control = { .space = { 0 } };
	struct msghdr msg = { .msg_iov = &iov,
		              .msg_iovlen = 1,
		              .msg_control = control.space,
		              .msg_controllen = sizeof(control.space) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_CREDENTIALS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(self));
	memcpy(CMSG_DATA(cmsg), &self, sizeof(self));
	return sendmsg(fd, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/*
 * Sends a message and, if answer is not NULL, waits for the answer. Without one the message may
 * still be in the queue when this returns; irqbalance takes its messages in their order.
 */
static int talk(const char *path, const char *message, char **answer, struct error *err)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len;
	int rc = fd < 0 || set_timeouts(fd) ? -errno : connect_socket(fd, path);

	if (rc == -ENOENT || rc == -ECONNREFUSED)
		return error_set(err, ENOENT, "irqbalance does not listen on %s any more", path);
	if (!rc)
		rc = send_message(fd, message);
	if (!rc && answer)
		rc = read_whole(fd, ANSWER_MAX, answer, &len);
	if (rc == -EAGAIN)
		return error_set(err, ETIMEDOUT,
		                 "cannot say \"%s\" to irqbalance on %s: no answer within %d s",
		                 message, path, PATIENCE_S);
	if (rc)
		return error_errno(err, -rc, "cannot say \"%s\" to irqbalance on %s", message,
		                   path);
	return 0;
}

/* "SLEEP 10 [IRQ ... ]BANNED 00000000,0000000c" */
static int ask_setup(const char *path, struct setup *setup, struct error *err)
{
	static const char key[] = "BANNED ";
	_cleanup_free_ char *answer = NULL;
	const char *banned;
	int rc = talk(path, "setup", &answer, err);

	if (rc)
		return rc;
	if (!*answer)
		return error_set(err, EPERM, "irqbalance does not answer on %s: it obeys root only",
		                 path);
	banned = strstr(answer, key);
	if (!banned || sscanf(answer, "SLEEP %9u ", &setup->interval) != 1 ||
	    cpumask_parse_hex(&setup->banned, banned + strlen(key)))
		return error_set(err, EPROTO,
		                 "cannot make out what irqbalance answers on %s: %.80s", path,
		                 answer);
	return 0;
}

static unsigned long long start_time_of(const struct system *sys, pid_t pid)
{
	struct process process;

	/* It may be in another PID namespace: then its number is all that is known of it. */
	return process_read(&process, &sys->root, pid, NULL) ? 0 : process.start_time;
}

/* told->list stays NULL if nothing is known of this irqbalance. */
static void told_load(struct told *told, const struct system *sys, pid_t pid)
{
	_cleanup_close_ int dir = state_open(&sys->root, NULL);
	_cleanup_fclose_ FILE *file = NULL;
	int fd = dir < 0 ? -1 : openat(dir, TOLD_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	*told = (struct told){ 0 };
	if (fd < 0)
		return;
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return;
	}
	if (fscanf(file, "%9d %19llu %9u %19llu %ms", &told->pid, &told->start_time,
	           &told->interval, &told->when, &told->list) == 5 &&
	    told->pid == pid && told->start_time == start_time_of(sys, pid)) {
		if (!strcmp(told->list, "-"))
			*told->list = '\0';
		return;
	}
	free(told->list);
	told->list = NULL;
}

static int told_save(const struct system *sys, pid_t pid, unsigned int interval, const char *list,
                     struct error *err)
{
	_cleanup_free_ char *text =
		xasprintf("%d %llu %u %llu %s\n", (int)pid, start_time_of(sys, pid), interval,
	                  monotonic_seconds(), *list ? list : "-");

	return state_note(&sys->root, TOLD_FILE, 0600, "what irqbalance is told", text, err);
}

/* Is it too early for irqbalance to show what it was told? It may have been about to scan, and may
 * then have slept for another interval with the answer ready. */
static bool is_in_flight(const struct told *told)
{
	return told->list && monotonic_seconds() < told->when + 2ull * told->interval + 5;
}

static int read_banned(const struct system *sys, const char *path, char **value, struct error *err)
{
	_cleanup_setup_ struct setup setup = { 0 };
	_cleanup_told_ struct told told = { 0 };
	pid_t pid;
	int rc = pid_of_path(path, &pid, err);

	*value = NULL;
	if (rc)
		return rc;
	told_load(&told, sys, pid);
	if (is_in_flight(&told)) {
		*value = take_ptr(&told.list);
		return 0;
	}
	rc = ask_setup(path, &setup, err);
	if (!rc)
		*value = cpumask_list(&setup.banned);
	return rc;
}

/*
 * A list that irqbalance would find by itself is not set but given back to it, with "NULL": its own
 * setting or, without one, the CPUs of isolcpus and nohz_full. So is the empty list, at which
 * irqbalance up to 1.9.2 crashes.
 */
static bool is_its_own(const struct system *sys, const struct cpumask *banned)
{
	_cleanup_cpumask_ struct cpumask own = CPUMASK_INIT;

	cpumask_copy(&own, &sys->machine.isolated);
	cpumask_or(&own, &sys->machine.nohz_full);
	return cpumask_empty(banned) || cpumask_equal(banned, &own);
}

static int write_banned(const struct system *sys, const char *path, const char *value,
                        struct error *err)
{
	_cleanup_cpumask_ struct cpumask banned = CPUMASK_INIT;
	_cleanup_setup_ struct setup setup = { 0 };
	_cleanup_told_ struct told told = { 0 };
	_cleanup_free_ char *message = NULL;
	pid_t pid;
	int rc = pid_of_path(path, &pid, err);

	if (rc)
		return rc;
	if (!value || cpumask_parse_list(&banned, value))
		return error_set(err, EINVAL,
		                 "cannot tell irqbalance \"%.60s\": not a list of CPUs",
		                 value ? value : "");
	message = xasprintf("settings cpus %s", is_its_own(sys, &banned) ? "NULL" : value);
	if (strlen(message) > MESSAGE_MAX)
		return error_set(err, E2BIG,
		                 "cannot tell irqbalance to leave CPUs %.60s... alone: it takes "
		                 "no message of more than %d bytes",
		                 value, MESSAGE_MAX);
	told_load(&told, sys, pid);
	if (told.list)
		setup.interval = told.interval;
	else
		rc = ask_setup(path, &setup, err);
	if (!rc)
		rc = told_save(sys, pid, setup.interval, value, err);
	return rc ? rc : talk(path, message, NULL, err);
}

static void judge_banned(const struct system *sys, struct knob *knob,
                         const struct error *write_error)
{
	(void)sys;
	if (!write_error->err && knob->reason == REASON_GRANTED)
		knob_judge(knob, KNOB_PENDING, REASON_PENDING,
		           "irqbalance takes it over with its next scan, before it moves anything");
}

static void shell_banned(FILE *out, const char *path, const char *value)
{
	fputs("printf 'settings cpus %s' ", out);
	shell_quote(out, *value ? value : "NULL");
	fputs(" | socat -u STDIN UNIX-CONNECT:", out);
	shell_quote(out, path);
	putc('\n', out);
}

const struct knob_type knob_irqbalance = {
	.name = "irqbalance",
	.read = read_banned,
	.write = write_banned,
	.same = knob_same_cpulist,
	.judge = judge_banned,
	.shell = shell_banned,
	.slow = true,
};

/* Plans for the irqbalance of one socket. False: nobody listens there. */
static bool plan_socket(struct plan *plan, const struct system *sys, const struct request *req,
                        const char *path)
{
	_cleanup_error_ struct error error = ERROR_INIT;
	_cleanup_cpumask_ struct cpumask banned = CPUMASK_INIT;
	_cleanup_free_ char *found = NULL, *wanted = NULL;
	struct knob *knob;
	int rc = read_banned(sys, path, &found, &error);

	if (rc == -ENOENT || rc == -EINVAL)
		return false;
	if (!rc && !cpumask_parse_list(&banned, found)) {
		cpumask_or(&banned, &req->cpus.workload);
		wanted = cpumask_list(&banned);
	}
	knob = plan_add(plan, &facility_irqbalance, &knob_irqbalance, req->irq.policy,
	                "irqbalance.banned_cpus", path, found, wanted,
	                "keeps irqbalance from moving interrupts to the workload's CPUs");
	if (rc)
		knob_judge(knob, KNOB_REFUSED,
		           rc == -EPERM ? REASON_NOT_PERMITTED : REASON_UNREADABLE, "%s",
		           error.text);
	return true;
}

static size_t plan_sockets(struct plan *plan, const struct system *sys, const struct request *req)
{
	_cleanup_namelist_ struct namelist names = NAMELIST_INIT;
	size_t n = 0;

	if (sysroot_list(&sys->root, SOCKET_DIR, &names, NULL))
		return 0;
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *path = xasprintf(SOCKET_DIR "/%s", names.names[i]);

		n += plan_socket(plan, sys, req, path);
	}
	return n;
}

/* Anything may be called so: a script, for one. Whose program cannot be seen counts. */
static bool is_irqbalance(const struct system *sys, pid_t pid)
{
	_cleanup_free_ char *path = xasprintf("proc/%d/exe", (int)pid);
	char exe[PATH_MAX];
	ssize_t n = readlinkat(sys->root.fd, path, exe, sizeof(exe) - 1);
	const char *name;

	if (n < 0)
		return true;
	exe[n] = '\0';
	name = strrchr(exe, '/');
	return name && (!strcmp(name, "/irqbalance") || !strcmp(name, "/irqbalance (deleted)"));
}

/* An irqbalance without a file: it has an abstract socket, or none at all. */
static size_t plan_processes(struct plan *plan, const struct system *sys, const struct request *req)
{
	_cleanup_pids_ struct pids pids = { 0 };
	size_t n = 0;

	if (process_find(&pids, &sys->root, "irqbalance", NULL))
		return 0;
	for (size_t i = 0; i < pids.n; i++) {
		_cleanup_free_ char *path =
			xasprintf(SOCKET_PREFIX "%d" SOCKET_SUFFIX, (int)pids.pids[i]);

		if (!is_irqbalance(sys, pids.pids[i]))
			continue;
		n++;
		if (!plan_socket(plan, sys, req, path))
			plan_note(plan, &facility_irqbalance, REASON_NO_SOCKET,
			          "irqbalance (process %d) runs without its socket and may move "
			          "interrupts to the workload's CPUs; stop it, or use a version "
			          "built with its user interface",
			          (int)pids.pids[i]);
	}
	return n;
}

static int plan_facility(struct plan *plan, const struct system *sys, const struct request *req,
                         const char *run_id, struct error *err)
{
	(void)run_id;
	(void)err;
	if (!policy_asked(req->irq.policy) || req->irq.irqbalance == ANSWER_NO || !sys->root.live)
		return 0;
	if (cpumask_last(&sys->machine.online) >= SAFE_CPUS) {
		plan_note(
			plan, &facility_irqbalance, REASON_KERNEL_DEFECT,
			"irqbalance is not told: asked for its CPUs it writes beyond its buffer on "
			"a machine with more than %d",
			SAFE_CPUS);
		return 0;
	}
	if (!plan_sockets(plan, sys, req) && !plan_processes(plan, sys, req) &&
	    req->irq.irqbalance == ANSWER_YES)
		plan_note(plan, &facility_irqbalance, REASON_NOT_RUNNING,
		          "irqbalance does not run, so there is nothing to tell it");
	return 0;
}

const struct facility facility_irqbalance = {
	.name = "irqbalance",
	.section = "irq",
	.title = "irqbalance",
	.plan = plan_facility,
};
