/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "task_affinity.h"

#include <errno.h>
#include <limits.h>

#define STAT_FLAGS      9 /* field numbers of proc_pid_stat(5) */
#define STAT_START_TIME 22

void task_stat_free(struct task_stat *stat)
{
	free(stat->comm);
	*stat = (struct task_stat){ 0 };
}

/* Opening gives ENOENT, reading a thread that ends meanwhile gives ESRCH: both mean gone. */
static int read_task_file(const struct system *sys, pid_t tid, const char *name, char **text,
                          struct error *err)
{
	_cleanup_free_
	char *path = xasprintf("/proc/%d/%s", (int)tid, name);
	int rc = sysroot_read(&sys->root, path, text, err);

	if (rc == -ESRCH)
		return error_set(err, ENOENT, "cannot read %s: the thread has ended", path);
	return rc;
}

/* The comm may hold blanks and parentheses: the fields are counted from the last one. */
static bool parse_stat(struct task_stat *stat, const char *text)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')'), *p;
	int field = 2;

	if (!open || !close || close < open)
		return false;
	for (p = close; (p = strchr(p, ' ')); p++) {
		char *end;
		unsigned long long value;

		if (++field != STAT_FLAGS && field != STAT_START_TIME)
			continue;
		errno = 0;
		value = strtoull(p + 1, &end, 10);
		if (errno || end == p + 1 || (*end && *end != ' '))
			return false;
		if (field == STAT_FLAGS) {
			stat->flags = (unsigned long)value;
			continue;
		}
		stat->start_time = value;
		stat->comm = xstrndup(open + 1, (size_t)(close - open - 1));
		return true;
	}
	return false;
}

int task_stat_read(struct task_stat *stat, const struct system *sys, pid_t tid, struct error *err)
{
	_cleanup_free_
	char *text = NULL;
	int rc = read_task_file(sys, tid, "stat", &text, err);

	*stat = (struct task_stat){ 0 };
	if (rc)
		return rc;
	if (!parse_stat(stat, text))
		return error_set(err, EINVAL,
		                 "cannot read /proc/%d/stat: not as in proc_pid_stat(5)", (int)tid);
	return 0;
}

/*
 * From /proc/TID/status, not sched_getaffinity(2), which a recorded tree does not have. The kernel
 * keeps CPUs that are offline in the mask, but lets nobody write them back (Linux <= 6.1 in
 * cgroup v1: cpuset_cpus_allowed()), so they are no part of the value.
 */
int task_affinity_read(struct cpumask *cpus, const struct system *sys, pid_t tid, struct error *err)
{
	static const char key[] = "\nCpus_allowed_list:\t";
	_cleanup_free_
	char *text = NULL, *list = NULL;
	const char *line;
	int rc = read_task_file(sys, tid, "status", &text, err);

	if (rc)
		return rc;
	line = strstr(text, key);
	if (line) {
		line += strlen(key);
		list = xstrndup(line, strcspn(line, "\n"));
	}
	if (!list || cpumask_parse_list(cpus, list))
		return error_set(err, EINVAL, "cannot read /proc/%d/status: no Cpus_allowed_list",
		                 (int)tid);
	cpumask_and(cpus, &sys->machine.online);
	return 0;
}

char *task_affinity_path(pid_t tid, unsigned long long start_time)
{
	return xasprintf("%d/%llu", (int)tid, start_time);
}

static int parse_path(const char *path, pid_t *tid, unsigned long long *start_time,
                      struct error *err)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(path, &end, 10);
	if (!errno && *path >= '1' && *path <= '9' && *end == '/' && number <= INT_MAX &&
	    end[1] >= '0' && end[1] <= '9') {
		*tid = (pid_t)number;
		*start_time = strtoull(end + 1, &end, 10);
		if (!errno && !*end)
			return 0;
	}
	return error_set(err, EINVAL, "cannot read \"%.60s\": not a thread and its start time",
	                 path);
}

/* Is the thread of the path still there? Its number in *tid, 0 or -errno. */
static int find_task(const struct system *sys, const char *path, pid_t *tid, unsigned long *flags,
                     struct error *err)
{
	_cleanup_task_stat_ struct task_stat stat = { 0 };
	unsigned long long start_time = 0;
	int rc = parse_path(path, tid, &start_time, err);

	if (!rc)
		rc = task_stat_read(&stat, sys, *tid, err);
	if (rc)
		return rc;
	if (stat.start_time != start_time)
		return error_set(err, ENOENT,
		                 "thread %d has ended; its number is another one's now", (int)*tid);
	*flags = stat.flags;
	return 0;
}

static int read_affinity(const struct system *sys, const char *path, char **value,
                         struct error *err)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	unsigned long flags;
	pid_t tid;
	int rc = find_task(sys, path, &tid, &flags, err);

	if (!rc)
		rc = task_affinity_read(&cpus, sys, tid, err);
	*value = rc ? NULL : cpumask_list(&cpus);
	return rc;
}

static int write_affinity(const struct system *sys, const char *path, const char *value,
                          struct error *err)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	unsigned long flags;
	pid_t tid;
	int rc = find_task(sys, path, &tid, &flags, err);

	if (rc)
		return rc;
	if (!sys->root.live)
		return error_set(err, EOPNOTSUPP, "cannot move thread %d: it is in a recorded tree",
		                 (int)tid);
	if (cpumask_parse_list(&cpus, value) || cpumask_empty(&cpus))
		return error_set(err, EINVAL, "cannot move thread %d to \"%s\": not a list of CPUs",
		                 (int)tid, value);
	rc = cpumask_set_affinity(&cpus, tid);
	if (rc == -ESRCH)
		return error_set(err, ENOENT, "cannot move thread %d: it has ended", (int)tid);
	if (rc)
		return error_errno(err, -rc, "cannot move thread %d to CPUs %s", (int)tid, value);
	return 0;
}

/* sched_setaffinity(2) has one EINVAL for a thread that nobody may move and for a bad mask. */
static void judge_affinity(const struct system *sys, struct knob *knob,
                           const struct error *write_error)
{
	unsigned long flags;
	pid_t tid;

	if (write_error->err == ENOENT) {
		knob_judge(knob, KNOB_UNAVAILABLE, REASON_GONE, "the thread has ended");
		return;
	}
	if (write_error->err != EINVAL || find_task(sys, knob->path, &tid, &flags, NULL))
		return;
	if (flags & TASK_NO_SETAFFINITY)
		knob_judge(knob, KNOB_EXPOSED, REASON_BOUND_THREAD,
		           "kernel thread %d is bound to its CPUs; nobody can move it", (int)tid);
	else
		knob_judge(knob, KNOB_REFUSED, REASON_INVALID_VALUE,
		           "none of the CPUs %s is in the cpuset of thread %d", knob->wanted,
		           (int)tid);
}

static void shell_affinity(FILE *out, const char *path, const char *value)
{
	fprintf(out, "taskset -p -c ");
	shell_quote(out, value);
	fprintf(out, " %.*s\n", (int)strcspn(path, "/"), path);
}

const struct knob_type knob_task_affinity = {
	.name = "task-affinity",
	.read = read_affinity,
	.write = write_affinity,
	.same = knob_same_cpulist,
	.judge = judge_affinity,
	.shell = shell_affinity,
};
