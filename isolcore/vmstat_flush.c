/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The write to vm.stat_refresh waits, uninterruptibly, until a kernel thread has run on every CPU,
 * which a real-time task that never sleeps puts off for ever. So a helper does it, and chisol waits
 * only so long. The helper is nobody's child and holds nothing of the run, or it would be found
 * by the command's wait(2) or keep a pipe of it open.
 */
#include "vmstat.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#define STAT_REFRESH "/proc/sys/vm/stat_refresh"
#define PATIENCE_MS  5000

/* close_range(2) is there since Linux 5.9, and not in every container. */
static int close_from(int first)
{
	struct dirent *entry;
	DIR *dir;

	if (!close_range((unsigned int)first, ~0u, 0))
		return 0;
	dir = opendir("/proc/self/fd");
	if (!dir)
		return -1;
	while ((entry = readdir(dir))) {
		long fd = strtol(entry->d_name, NULL, 10); /* "." and ".." give 0 */

		if (fd >= first && fd != dirfd(dir))
			close((int)fd);
	}
	return closedir(dir);
}

static void __attribute__((noreturn)) helper(int file, int answer)
{
	int result = 0;

	/* Either may be one of the standard descriptors, if chisol was started without those. */
	file = fcntl(file, F_DUPFD, 3);
	answer = fcntl(answer, F_DUPFD, 3);
	if (dup2(file, 0) < 0 || dup2(answer, 1) < 0 || close_from(2) || setsid() < 0 ||
	    write(0, "1\n", 2) < 0)
		result = errno;
	_exit(write(1, &result, sizeof(result)) != sizeof(result) ? EXIT_FAILURE : EXIT_SUCCESS);
}

static int start_helper(int file, int answer, struct error *err)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		pid = fork();
		if (pid == 0)
			helper(file, answer);
		_exit(pid < 0 ? errno : 0);
	}
	if (pid < 0)
		return error_errno(err, errno, "cannot flush " STAT_REFRESH ": fork");
	/* Where SIGCHLD is ignored there is no status (ECHILD): the answer will tell. */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status)
		return error_errno(err, WIFEXITED(status) ? WEXITSTATUS(status) : ECANCELED,
		                   "cannot flush " STAT_REFRESH ": fork");
	return 0;
}

static int flush(const struct system *sys, struct error *err)
{
	_cleanup_close_ int file = sysroot_openat(&sys->root, STAT_REFRESH, O_WRONLY, err);
	_cleanup_close_ int answer = -1, question = -1;
	struct pollfd ready = { .events = POLLIN };
	int ends[2], result, rc;
	ssize_t n;

	if (file < 0)
		return file;
	if (pipe2(ends, O_CLOEXEC))
		return error_errno(err, errno, "cannot flush " STAT_REFRESH ": pipe");
	answer = ready.fd = ends[0];
	question = ends[1];
	rc = start_helper(file, question, err);
	if (rc)
		return rc;
	close(take_fd(&question));
	while ((rc = poll(&ready, 1, PATIENCE_MS)) < 0 && errno == EINTR)
		;
	if (rc == 0)
		return error_set(err, ETIMEDOUT,
		                 "the flush of " STAT_REFRESH " did not end within %d s: a "
		                 "real-time task occupies a CPU; the flush will end with it",
		                 PATIENCE_MS / 1000);
	n = rc < 0 ? -1 : read(answer, &result, sizeof(result));
	if (n != sizeof(result))
		return error_errno(err, n < 0 ? errno : EIO, "cannot flush " STAT_REFRESH);
	return result ? error_errno(err, result, "cannot write to " STAT_REFRESH) : 0;
}

static int apply(const struct system *sys, struct task_setting *t, struct error *err)
{
	_cleanup_error_ struct error why = ERROR_INIT;
	int rc = flush(sys, &why);

	if (!rc) {
		xreplace(&t->granted, t->wanted);
		task_judge(t, KNOB_GRANTED, REASON_GRANTED, NULL);
		return 0;
	}
	task_judge(t, rc == -ENOENT ? KNOB_UNAVAILABLE : KNOB_REFUSED, reason_of_errno(-rc), "%s",
	           why.text);
	return error_move(err, &why);
}

static void shell(FILE *out, const struct task_setting *t)
{
	(void)t;
	knob_file_shell(out, STAT_REFRESH, "1");
}

const struct task_op vmstat_flush = {
	.stage = TASK_STAGE_FLUSH,
	.apply = apply,
	.shell = shell,
};
