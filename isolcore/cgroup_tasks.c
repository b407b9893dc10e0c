/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgroup_tasks.h"
#include "cgroup_claims.h"
#include "task_affinity.h"

#include <errno.h>
#include <limits.h>
#include <time.h>

/*
 * Each pass moves what was born during the one before. A task that is exiting is still listed for a
 * while and can be "moved" without effect; it takes a busy machine to make that long.
 */
#define MAX_PASSES    1000
#define QUICK_PASSES  8 /* then with a pause of PASS_PAUSE_NS before each */
#define PASS_PAUSE_NS 5000000

int cgroup_list_tasks(const struct system *sys, const char *path, pid_t **tids, size_t *n,
                      struct error *err)
{
	_cleanup_free_ char *text = NULL;
	size_t room = 0;
	int rc = sysroot_read_limit(&sys->root, path, SYSROOT_BIG, &text, err);

	*tids = NULL;
	*n = 0;
	if (rc)
		return rc;
	for (const char *p = text; *p;) {
		char *end;
		long tid;

		errno = 0;
		tid = strtol(p, &end, 10);
		if (errno || end == p || *end != '\n' || tid < 0 || tid > INT_MAX) {
			free(*tids);
			*tids = NULL;
			*n = 0;
			return error_set(err, EINVAL, "cannot read %s: \"%.20s\" is not a task",
			                 path, p);
		}
		*tids = xgrow(*tids, *n + 1, &room, sizeof(**tids));
		(*tids)[(*n)++] = (pid_t)tid;
		p = end + 1;
	}
	return 0;
}

bool cgroup_masks_get_lost(const struct machine *m)
{
	return !machine_kernel_at_least(m, 6, 12) || !cpumask_empty(&m->isolated) ||
	       !cpumask_empty(&m->nohz_full);
}

/* before is what the task had in the group that it left, full what all of that group had. */
static void keep_mask(const struct system *sys, pid_t tid, const struct cpumask *before,
                      const struct cpumask *full)
{
	_cleanup_cpumask_ struct cpumask mask = CPUMASK_INIT;

	if (cpumask_empty(before) || cpumask_equal(before, full) ||
	    task_affinity_read(&mask, sys, tid, NULL))
		return;
	cpumask_and(&mask, before);
	/* A task that ended, or changed its mask itself just now, needs none of this. */
	if (!cpumask_empty(&mask))
		cpumask_set_affinity(&mask, tid);
}

struct move {
	const struct system *sys;
	char *from, *to; /* the files */
	bool with_kernel_threads;
	bool keep_masks;
	struct cpumask full; /* the CPUs of the group that they leave */
};

static bool is_kernel_thread(const struct system *sys, pid_t tid)
{
	struct process process;

	return !process_read(&process, &sys->root, tid, NULL) && (process.flags & PROCESS_KTHREAD);
}

/* Returns 1 if the task was moved, 0 if it was passed over. */
static int move_task(const struct move *move, pid_t tid, struct error *err)
{
	_cleanup_cpumask_ struct cpumask before = CPUMASK_INIT;
	_cleanup_free_ char *number = xasprintf("%d", (int)tid);
	int rc;

	/* 0 is a task of another PID name space. */
	if (!tid || (!move->with_kernel_threads && is_kernel_thread(move->sys, tid)))
		return 0;
	if (move->keep_masks && task_affinity_read(&before, move->sys, tid, NULL))
		return 0;
	rc = sysroot_write(&move->sys->root, move->to, number, err);
	if (!rc && move->keep_masks)
		keep_mask(move->sys, tid, &before, &move->full);
	/* ESRCH: it has ended. EINVAL: a kernel thread that is bound (PF_NO_SETAFFINITY). */
	if (rc == -ESRCH || rc == -EINVAL) {
		error_clear(err);
		return 0;
	}
	return rc ? rc : 1;
}

static int move_pass(const struct move *move, size_t *n_moved, struct error *err)
{
	_cleanup_free_ pid_t *tids = NULL;
	size_t n;
	int first = cgroup_list_tasks(move->sys, move->from, &tids, &n, err);

	*n_moved = 0;
	for (size_t i = 0; i < n; i++) {
		_cleanup_error_ struct error error = ERROR_INIT;
		int rc = move_task(move, tids[i], &error);

		if (rc > 0)
			++*n_moved;
		else if (rc && !first)
			first = error_move(err, &error);
	}
	return first;
}

int cgroup_move_tasks(const struct system *sys, const char *from, const char *to, const char *file,
                      bool with_kernel_threads, struct error *err)
{
	_cleanup_free_ char *from_file = xasprintf("%s/%s", from, file),
			    *to_file = xasprintf("%s/%s", to, file);
	struct move move = { sys, from_file, to_file, with_kernel_threads, false, CPUMASK_INIT };
	_cleanup_error_ struct error error = ERROR_INIT;
	size_t n_moved = 1;
	int rc = 0;

	if (!machine_kernel_at_least(&sys->machine, 6, 2)) {
		cgroup_effective(&move.full, sys, from);
		move.keep_masks = true;
	}
	for (int pass = 0; n_moved && pass < MAX_PASSES; pass++) {
		const struct timespec pause = { .tv_nsec = PASS_PAUSE_NS };

		if (pass >= QUICK_PASSES)
			nanosleep(&pause, NULL);
		error_clear(&error);
		rc = move_pass(&move, &n_moved, &error);
	}
	cpumask_free(&move.full);
	if (rc)
		return error_move(err, &error);
	if (n_moved)
		return error_set(err, EAGAIN,
		                 "cannot empty %s: tasks are born there faster than they can be "
		                 "moved",
		                 from_file);
	return 0;
}

static int read_evict(const struct system *sys, const char *path, char **value, struct error *err)
{
	_cleanup_free_ char *file = xasprintf("%s/tasks", path);
	_cleanup_free_ pid_t *tids = NULL;
	size_t n;
	int rc = cgroup_list_tasks(sys, file, &tids, &n, err);

	*value = rc ? NULL : xstrdup(n ? EVICT_MOVED : EVICT_IN_PLACE);
	return rc;
}

/* Where the tasks come from: the group that the run's group is in. */
static char *source_group(const char *path)
{
	_cleanup_free_ char *run_group = cgroup_parent(path);

	return cgroup_parent(run_group);
}

/* Where they go back to. */
static char *sink_group(const struct system *sys, const char *path)
{
	_cleanup_namelist_ struct namelist runs = NAMELIST_INIT;
	_cleanup_free_ char *run_group = cgroup_parent(path);

	if (!cgroup_list_runs(sys, run_group, &runs)) {
		for (size_t i = 0; i < runs.n; i++) {
			_cleanup_free_ char *rest =
				xasprintf("%s%s", runs.names[i], strrchr(path, '/'));

			if (sysroot_exists(&sys->root, rest))
				return take_ptr(&rest);
		}
	}
	return source_group(path);
}

static int write_evict(const struct system *sys, const char *path, const char *value,
                       struct error *err)
{
	_cleanup_free_ char *above = source_group(path), *back = NULL;

	if (value && !strcmp(value, EVICT_MOVED))
		return cgroup_move_tasks(sys, above, path, "tasks", false, err);
	back = sink_group(sys, path);
	return cgroup_move_tasks(sys, path, back, "tasks", true, err);
}

static void judge_evict(const struct system *sys, struct knob *knob,
                        const struct error *write_error)
{
	(void)sys;
	if (write_error->err)
		knob_judge(knob, KNOB_REFUSED, reason_of_errno(write_error->err), "%s",
		           write_error->text);
	else if (knob->granted && knob->state != KNOB_GRANTED)
		knob_judge(knob, KNOB_GRANTED, REASON_GRANTED, NULL);
}

static void shell_evict(FILE *out, const char *path, const char *value)
{
	_cleanup_free_ char *above = source_group(path);
	bool out_of = !strcmp(value, EVICT_MOVED);

	fputs("while read -r task; do echo \"$task\" > ", out);
	shell_quote(out, out_of ? path : above);
	fputs("/tasks; done < ", out);
	shell_quote(out, out_of ? above : path);
	fputs("/tasks 2>/dev/null || true\n", out);
}

const struct knob_type knob_cgroup_evict = {
	.name = "cgroup-evict",
	.read = read_evict,
	.write = write_evict,
	.judge = judge_evict,
	.shell = shell_evict,
};

static int read_mask(const struct system *sys, const char *path, char **value, struct error *err)
{
	return knob_task_affinity.read(sys, path, value, err);
}

static int write_mask(const struct system *sys, const char *path, const char *value,
                      struct error *err)
{
	return value && strchr(value, '|') ? 0 : knob_task_affinity.write(sys, path, value, err);
}

/* Is the list one of those in alternatives? */
static bool is_among(const char *list, const char *alternatives)
{
	for (const char *p = alternatives; p; p = strchr(p, '|')) {
		_cleanup_free_ char *one = NULL;

		p += *p == '|';
		one = xstrndup(p, strcspn(p, "|"));
		if (knob_same_cpulist(list, one))
			return true;
	}
	return false;
}

static bool same_mask(const char *a, const char *b)
{
	return strchr(a, '|') ? is_among(b, a) : is_among(a, b);
}

/* Nothing is asked of it, so nothing can be refused. */
static void judge_mask(const struct system *sys, struct knob *knob, const struct error *write_error)
{
	(void)sys;
	(void)write_error;
	if (knob->granted)
		knob_judge(knob, KNOB_GRANTED, REASON_ALREADY, NULL);
	else
		knob_judge(knob, KNOB_GRANTED, REASON_GONE, "the task has ended");
}

static void shell_mask(FILE *out, const char *path, const char *value)
{
	if (strchr(value, '|'))
		fputs(": # nothing to write now: the kernel will change it\n", out);
	else
		knob_task_affinity.shell(out, path, value);
}

const struct knob_type knob_task_mask = {
	.name = "task-mask",
	.read = read_mask,
	.write = write_mask,
	.same = same_mask,
	.judge = judge_mask,
	.shell = shell_mask,
	.mortal = true,
};
