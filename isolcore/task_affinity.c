/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "task_affinity.h"

#include <errno.h>
#include <limits.h>

/*
 * From /proc/TID/status, not sched_getaffinity(2), which a recorded tree does not have. The kernel
 * keeps CPUs that are offline in the mask, but lets nobody write them back (Linux <= 6.1 in
 * cgroup v1: cpuset_cpus_allowed()), so they are no part of the value.
 */
int task_affinity_read(struct cpumask *cpus, const struct system *sys, pid_t tid, struct error *err)
{
	static const char key[] = "\nCpus_allowed_list:\t";
	_cleanup_free_ char *path = xasprintf("/proc/%d/status", (int)tid), *text = NULL,
			    *list = NULL;
	const char *line;
	int rc = sysroot_read(&sys->root, path, &text, err);

	/* Opening gives ENOENT, reading of a thread that ends meanwhile gives ESRCH. */
	if (rc == -ESRCH)
		return error_set(err, ENOENT, "thread %d has ended", (int)tid);
	if (rc)
		return rc;
	line = strstr(text, key);
	if (line) {
		line += strlen(key);
		list = xstrndup(line, strcspn(line, "\n"));
	}
	if (!list || cpumask_parse_list(cpus, list))
		return error_set(err, EINVAL, "cannot read %s: it has no Cpus_allowed_list", path);
	cpumask_and(cpus, &sys->machine.online);
	return 0;
}

char *task_affinity_path(const struct process *thread)
{
	return xasprintf("/proc/%d/%llu", (int)thread->pid, thread->start_time);
}

/* "NUMBER" up to the end character; strtoull(3) alone takes signs and blanks too. */
static bool parse_number(const char **p, char end, unsigned long long *number)
{
	char *stop;

	if (**p < '1' || **p > '9')
		return false;
	errno = 0;
	*number = strtoull(*p, &stop, 10);
	*p = stop + 1;
	return !errno && *stop == end;
}

/* The thread of the path, if it is still there. */
static int find_thread(struct process *thread, const struct system *sys, const char *path,
                       struct error *err)
{
	static const char proc[] = "/proc/";
	unsigned long long tid, start_time;
	const char *p = path + strlen(proc);
	int rc;

	if (strncmp(path, proc, strlen(proc)) || !parse_number(&p, '/', &tid) || tid > INT_MAX ||
	    !parse_number(&p, '\0', &start_time))
		return error_set(err, EINVAL, "\"%.80s\" is not a thread and its start time", path);
	rc = process_read(thread, &sys->root, (pid_t)tid, err);
	if (rc == -ESRCH)
		return error_set(err, ENOENT, "thread %llu has ended", tid);
	if (rc)
		return rc;
	if (thread->start_time != start_time)
		return error_set(err, ENOENT,
		                 "thread %llu has ended; its number is another one's now", tid);
	return 0;
}

static int read_affinity(const struct system *sys, const char *path, char **value,
                         struct error *err)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	struct process thread;
	int rc = find_thread(&thread, sys, path, err);

	if (!rc)
		rc = task_affinity_read(&cpus, sys, thread.pid, err);
	*value = rc ? NULL : cpumask_list(&cpus);
	return rc;
}

static int write_affinity(const struct system *sys, const char *path, const char *value,
                          struct error *err)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	struct process thread;
	int rc = find_thread(&thread, sys, path, err);

	if (rc)
		return rc;
	if (!sys->root.live)
		return error_set(err, EOPNOTSUPP, "cannot move thread %d: it is in a recorded tree",
		                 (int)thread.pid);
	if (!value || cpumask_parse_list(&cpus, value) || cpumask_empty(&cpus))
		return error_set(err, EINVAL, "cannot move thread %d to \"%s\": not a list of CPUs",
		                 (int)thread.pid, value ? value : "");
	rc = cpumask_set_affinity(&cpus, thread.pid);
	if (rc == -ESRCH)
		return error_set(err, ENOENT, "cannot move thread %d: it has ended",
		                 (int)thread.pid);
	if (rc == -EINVAL && system_all_offline(sys, &cpus))
		return error_set(err, ENXIO, "cannot move thread %d to CPUs %s: they are offline",
		                 (int)thread.pid, value);
	if (rc)
		return error_errno(err, -rc, "cannot move thread %d to CPUs %s", (int)thread.pid,
		                   value);
	return 0;
}

/* sched_setaffinity(2) has one EINVAL for a thread that nobody may move and for a bad mask. */
static void judge_affinity(const struct system *sys, struct knob *knob,
                           const struct error *write_error)
{
	struct process thread;

	if (write_error->err == ENOENT) {
		knob_judge(knob, KNOB_GRANTED, REASON_GONE, "the thread has ended");
		return;
	}
	if ((write_error->err != EINVAL && write_error->err != ENXIO) ||
	    find_thread(&thread, sys, knob->path, NULL))
		return;
	if (thread.flags & PROCESS_NO_SETAFFINITY)
		knob_judge(knob, KNOB_EXPOSED, REASON_BOUND_THREAD,
		           "kernel thread %d is bound to its CPUs; nobody can move it",
		           (int)thread.pid);
	else
		knob_judge(knob, KNOB_REFUSED, REASON_INVALID_VALUE,
		           "none of the CPUs %s is in the cpuset of thread %d", knob->wanted,
		           (int)thread.pid);
}

static void shell_affinity(FILE *out, const char *path, const char *value)
{
	const char *tid = path + strlen("/proc/");

	fputs("taskset -p -c ", out);
	shell_quote(out, value);
	fprintf(out, " %.*s > /dev/null\n", (int)strcspn(tid, "/"), tid);
}

const struct knob_type knob_task_affinity = {
	.name = "task-affinity",
	.read = read_affinity,
	.write = write_affinity,
	.same = knob_same_cpulist,
	.judge = judge_affinity,
	.shell = shell_affinity,
	.mortal = true,
};
