/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "launch.h"

#include "command.h"
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

int launch_guard_stdio(struct error *err)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* The lowest free number is this one. */
		if (open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) != fd)
			return error_errno(err, errno, "cannot open / in place of descriptor %d",
			                   fd);
	}
	return 0;
}

void launch_hold_signals(struct launch_signals *inherited)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t held;

	supervise_held_signals(&held);
	sigprocmask(SIG_BLOCK, &held, &inherited->mask);
	sigaction(SIGCHLD, &plain, &inherited->child);
}

/* Makes every setting of the plan in the calling process, in the order of their stages. */
static int configure(const struct system *sys, const struct plan *plan, struct error *err)
{
	for (size_t i = 0; i < plan->n_tasks; i++) {
		struct task_setting *t = plan->tasks[i];
		_cleanup_error_ struct error why = ERROR_INIT;

		if (t->op->apply(sys, t, &why) && t->policy == POLICY_REQUIRE)
			return error_move(err, &why);
	}
	return 0;
}

static int add_cpus_to_environment(const struct request *req, struct error *err)
{
	const struct {
		const char *name;
		const struct cpumask *cpus;
	} variables[] = { { "CHISOL_CPUS", &req->cpus.workload },
		          { "CHISOL_HOUSEKEEPING_CPUS", &req->cpus.housekeeping } };

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		_cleanup_free_ char *list = cpumask_list(variables[i].cpus);

		if (setenv(variables[i].name, list, 1))
			return error_errno(err, errno, "cannot set %s in the environment",
			                   variables[i].name);
	}
	return 0;
}

static int explain_missing(const char *name, struct error *err)
{
	_cleanup_free_ char *file = command_find(name, F_OK),
			    *interpreter = file ? command_interpreter(file) : NULL;

	if (interpreter)
		return error_set(err, ENOENT,
		                 "cannot run %s: its first line asks for the interpreter "
		                 "\"%s\", which does not exist",
		                 file, interpreter);
	if (file)
		return error_set(err, ENOENT,
		                 "cannot run %s: the dynamic loader that it asks for does not "
		                 "exist; it may be made for another system",
		                 file);
	if (strchr(name, '/'))
		return error_set(err, ENOENT, "cannot run %s: there is no such file", name);
	return error_set(err, ENOENT, "cannot run \"%s\": no directory of PATH has it", name);
}

static int explain_refused(const char *name, struct error *err)
{
	_cleanup_free_ char *file = command_find(name, F_OK);
	struct statvfs fs;
	struct stat st;

	if (!file || stat(file, &st))
		return error_errno(err, EACCES, "cannot run %s", name);
	if (S_ISDIR(st.st_mode))
		return error_set(err, EACCES, "cannot run %s: it is a directory", file);
	if (!(st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)))
		return error_set(err, EACCES,
		                 "cannot run %s: it is not executable (mode %04o); see chmod(1)",
		                 file, st.st_mode & 07777u);
	if (!statvfs(file, &fs) && fs.f_flag & ST_NOEXEC)
		return error_set(err, EACCES, "cannot run %s: its file system is mounted noexec",
		                 file);
	return error_set(err, EACCES,
	                 "cannot run %s: user %u may not execute it, or not its interpreter", file,
	                 (unsigned int)geteuid());
}

/* Returns only on failure. */
static int exec_command(const struct request *req, const struct launch_hooks *hooks,
                        int *exit_status, struct error *err)
{
	const char *name = req->argv[0];
	int rc = add_cpus_to_environment(req, err);

	*exit_status = EXIT_CHISOL;
	if (rc)
		return rc;
	if (hooks && hooks->before_exec)
		hooks->before_exec(hooks->ctx, name);
	execvp(name, req->argv);
	*exit_status = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	if (errno == ENOENT)
		return explain_missing(name, err);
	if (errno == EACCES)
		return explain_refused(name, err);
	return error_errno(err, errno, "cannot run %s", name);
}

static int refuse_recorded_tree(const struct system *sys, struct error *err)
{
	if (sys->root.live)
		return 0;
	return error_set(err, EINVAL, "cannot run a command against the recorded tree %s",
	                 sys->root.dir);
}

int launch_in_place(const struct system *sys, const struct request *req, struct plan *plan,
                    int *exit_status, struct error *err)
{
	int rc = refuse_recorded_tree(sys, err);

	*exit_status = EXIT_CHISOL;
	if (!rc)
		rc = configure(sys, plan, err);
	return rc ? rc : exec_command(req, NULL, exit_status, err);
}

/* After the change of user, which clears it. chisol may have died before. */
static int follow_parent_death(pid_t parent, struct error *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGTERM))
		return error_errno(err, errno, "cannot ask for a signal at the end of chisol");
	if (getppid() != parent)
		return error_set(err, ESRCH, "chisol ended before the command could start");
	return 0;
}

void launch_say_out_of_memory(void)
{
	static const char sentence[] = "chisol: out of memory\n";
	ssize_t n = write(STDERR_FILENO, sentence, strlen(sentence));

	(void)n; /* there is nobody else to tell */
}

void launch_out_of_memory(void)
{
	launch_say_out_of_memory();
	_exit(EXIT_CHISOL);
}

static void become_command(const struct system *sys, const struct request *req, struct plan *plan,
                           const struct launch_signals *inherited, const struct launch_hooks *hooks,
                           pid_t parent, int channel) __attribute__((noreturn));

static void become_command(const struct system *sys, const struct request *req, struct plan *plan,
                           const struct launch_signals *inherited, const struct launch_hooks *hooks,
                           pid_t parent, int channel)
{
	struct handover words = HANDOVER_INIT;
	struct error err = ERROR_INIT;
	int exit_status = EXIT_CHISOL;
	char go;
	int rc;

	/* There is nothing here to put back: that is the parent's, or the journal's. */
	mem_exhausted = launch_out_of_memory;
	/* The gate: the end of the channel means that chisol changed its mind, or died. */
	if (recv(channel, &go, 1, 0) != 1)
		_exit(EXIT_CHISOL);
	rc = configure(sys, plan, &err);
	if (!rc)
		rc = follow_parent_death(parent, &err);
	handover_add_settings(&words, plan);
	if (!rc) {
		handover_add_ready(&words);
		if (handover_send(&words, channel))
			_exit(EXIT_CHISOL);
		sigaction(SIGCHLD, &inherited->child, NULL);
		sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
		exec_command(req, hooks, &exit_status, &err);
	}
	handover_add_failure(&words, exit_status, &err);
	handover_send(&words, channel);
	_exit(exit_status);
}

/* chisol itself must not disturb the CPUs that it has freed. */
static void keep_to_housekeeping(const struct request *req, struct plan *plan)
{
	_cleanup_free_ char *list = cpumask_list(&req->cpus.housekeeping);
	int rc;

	if (cpumask_empty(&req->cpus.housekeeping))
		return;
	rc = cpumask_set_affinity(&req->cpus.housekeeping, 0);
	if (rc)
		plan_note(plan, NULL, REASON_INVALID_VALUE,
		          "chisol itself cannot keep to the housekeeping CPUs %s (%s), and may "
		          "disturb the command",
		          list, strerror(-rc));
}

/* The command alone holds its input and output: when it closes them, the other end of the pipe must
 * see that. Reports go to standard error or to files of their own. */
static void let_go_of_stdio(void)
{
	_cleanup_close_ int nothing = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (nothing < 0)
		return;
	dup3(nothing, STDIN_FILENO, O_CLOEXEC);
	dup3(nothing, STDOUT_FILENO, O_CLOEXEC);
}

static int open_channel(int *parent_end, int *child_end, struct error *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return error_errno(err, errno, "cannot open a socket pair to the command");
	*parent_end = ends[0];
	*child_end = ends[1];
	return 0;
}

/* A deadline is one task's alone (sched(7)): what has one cannot fork. */
static int fork_error(int error, struct error *err)
{
	error_errno(err, error, "cannot start a process for the command");
	if (error != EAGAIN)
		return -error;
	return error_append(
		err, (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_DEADLINE
			     ? "; chisol runs with SCHED_DEADLINE, which cannot fork: put chrt "
			       "behind it, as in: chisol ... chrt -d ... COMMAND"
			     : "; a limit on processes (ulimit -u, or pids.max of the cgroup) is "
			       "reached");
}

int launch_and_wait(const struct system *sys, const struct request *req, struct plan *plan,
                    struct journal *journal, const struct launch_signals *inherited,
                    const struct launch_hooks *hooks, struct launch_result *result,
                    struct error *err)
{
	_cleanup_close_ int channel = -1, child_end = -1, signals = -1;
	struct supervision s = { .sys = sys, .plan = plan, .hooks = hooks };
	pid_t self = getpid();
	int rc;

	*result = (struct launch_result){ .exit_status = EXIT_CHISOL };
	rc = refuse_recorded_tree(sys, err);
	if (!rc)
		rc = open_channel(&channel, &child_end, err);
	if (rc)
		return rc;
	signals = supervise_open_signals(err);
	if (signals < 0)
		return signals;

	s.pid = fork();
	if (s.pid < 0)
		return fork_error(errno, err);
	if (!s.pid) {
		close(channel);
		become_command(sys, req, plan, inherited, hooks, self, take_fd(&child_end));
	}
	close(take_fd(&child_end));
	let_go_of_stdio();
	keep_to_housekeeping(req, plan);
	rc = journal ? journal_note_command(journal, s.pid, err) : 0;
	s.channel = channel;
	s.signals = signals;
	supervise_at_gate(&s);
	if (rc || send(channel, "", 1, MSG_NOSIGNAL) != 1) {
		/* The gate stays shut. */
		close(take_fd(&channel));
		waitpid(s.pid, NULL, 0);
		return rc ? rc : error_set(err, EPIPE, "the command's process ended too early");
	}
	return supervise(&s, result, err);
}

void launch_end_like(const struct launch_result *result)
{
	int sig = WTERMSIG(result->wait_status);
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t one;

	if (!result->started)
		exit(result->exit_status);
	if (!WIFSIGNALED(result->wait_status))
		exit(WEXITSTATUS(result->wait_status));
	fflush(NULL);
	/* The command has dumped core if it was to; RLIMIT_CORE does not stop a core_pattern that
	 * is a pipe, this does (core(5)). */
	prctl(PR_SET_DUMPABLE, 0);
	sigaction(sig, &plain, NULL);
	sigemptyset(&one);
	sigaddset(&one, sig);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	kill(getpid(), sig);
	/* The first process of a pid namespace outlives its signals. */
	_exit(128 + sig);
}
