/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgroup_knobs.h"
#include "cgroup_claims.h"
#include "cgroup_tasks.h"
#include "cgroup_world.h"
#include "journal.h"

#include <errno.h>
#include <time.h>

/* How long the kernel is given to let a group go and to give its CPUs back. */
#define PATIENCE_MS 2000
#define STEP_MS     5

static void wait_a_step(void)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };

	nanosleep(&step, NULL);
}

/* The "/chisol-RUN_ID" in a path and what is after it; NULL: it is of no run. Others may have
 * groups that are called chisol-something. */
static const char *run_part(const char *path)
{
	static const char digits[] = "0123456789";

	for (; (path = strstr(path, "/" CGROUP_RUN_PREFIX)); path++) {
		const char *pid = path + strlen("/" CGROUP_RUN_PREFIX);
		const char *start = pid + strspn(pid, digits) + 1, *end;

		if (start == pid + 1 || start[-1] != '-')
			continue;
		end = start + strspn(start, digits);
		if (end > start && (!*end || *end == '/'))
			return path;
	}
	return NULL;
}

bool cgroup_is_of_run(const char *path)
{
	return run_part(path);
}

/* The run's group above a path in it, or the path itself. */
static char *run_group_of(const char *path)
{
	const char *run = run_part(path);

	return run ? xstrndup(path, (size_t)(run + 1 - path) + strcspn(run + 1, "/"))
	           : xstrdup(path);
}

static char *run_id_of(const char *path)
{
	const char *run = run_part(path), *id = run ? run + strlen("/" CGROUP_RUN_PREFIX) : NULL;

	return id ? xstrndup(id, strcspn(id, "/")) : NULL;
}

/* The file by which tasks are moved: threads of a threaded v2 group have no other. */
static const char *task_file(const struct system *sys, const char *group)
{
	_cleanup_free_ char *type = xasprintf("%s/cgroup.type", group), *value = NULL;

	if (cgroup_has_file(sys, group, "tasks"))
		return "tasks";
	return !sysroot_read(&sys->root, type, &value, NULL) && !strcmp(value, "threaded")
	               ? "cgroup.threads"
	               : "cgroup.procs";
}

static int read_dir(const struct system *sys, const char *path, char **value, struct error *err)
{
	*value = NULL;
	if (!sysroot_exists(&sys->root, path))
		return error_set(err, ENOENT, "there is no group %s", path);
	*value = xstrdup(CGROUP_PRESENT);
	return 0;
}

/* Where the caller is; NULL: in a run, or it is not known. */
static char *callers_group(const struct system *sys)
{
	_cleanup_cgroup_world_ struct cgroup_world world = { 0 };
	_cleanup_free_ char *own = NULL;

	if (cgroup_world_read(&world, sys, NULL) || world.kind == CGROUP_NONE)
		return NULL;
	own = xasprintf("%s%s", world.mount, world.own);
	return cgroup_is_of_run(own) ? NULL : take_ptr(&own);
}

/* Is it in the run of this very process? */
static bool is_of_own_run(const char *path)
{
	_cleanup_free_ char *own = run_id_make(NULL), *id = run_id_of(path);

	return own && id && !strcmp(own, id);
}

static bool has_tasks(const struct system *sys, const char *path, const char *file)
{
	_cleanup_free_ char *list = xasprintf("%s/%s", path, file);
	_cleanup_free_ pid_t *tids = NULL;
	size_t n;

	return cgroup_list_tasks(sys, list, &tids, &n, NULL) || n;
}

/*
 * Moves what is left in a group: out of a run to where its chisol is, as it would be there had that
 * not been. Whoever restores for another moves it to the group above: its own may be ended with all
 * that is in it. Where there is no other way the one goes for the other: the group above cannot
 * hold processes if it hands controllers down (v2).
 */
static int empty_group(const struct system *sys, const char *path, const char *above,
                       struct error *err)
{
	const char *file = task_file(sys, path);
	_cleanup_free_ char *own = NULL;
	int rc;

	if (!has_tasks(sys, path, file))
		return 0;
	own = callers_group(sys);
	if (own && !cgroup_is_of_run(above) && is_of_own_run(path) &&
	    !cgroup_move_tasks(sys, path, own, file, true, NULL))
		return 0;
	rc = cgroup_move_tasks(sys, path, above, file, true, err);
	if ((rc != -EBUSY && rc != -EOPNOTSUPP) || !own)
		return rc;
	error_clear(err);
	return cgroup_move_tasks(sys, path, own, file, true, err);
}

/* A process that is just ending keeps its group busy for a moment. */
static int remove_when_empty(const struct system *sys, const char *path, const char *above,
                             struct error *err)
{
	_cleanup_error_ struct error error = ERROR_INIT;
	int rc = 0;

	for (int ms = 0; ms < PATIENCE_MS; ms += STEP_MS) {
		rc = empty_group(sys, path, above, &error);
		if (rc == -ENOENT || rc == -ENODEV) /* removed meanwhile */
			return 0;
		if (rc)
			break;
		rc = sysroot_rmdir(&sys->root, path, &error);
		if (rc == -ENOENT)
			return 0;
		if (rc != -EBUSY)
			break;
		wait_a_step();
	}
	return rc ? error_move(err, &error) : 0;
}

static bool has_cpus(const struct system *sys, const char *group, const struct cpumask *cpus)
{
	_cleanup_cpumask_ struct cpumask effective = CPUMASK_INIT;

	cgroup_effective(&effective, sys, group);
	return cpumask_subset(cpus, &effective);
}

/*
 * Linux 6.1 gives them back a little later. They go to the group above if that is a partition
 * itself, and otherwise to the root.
 */
static int wait_for_cpus(const struct system *sys, const char *path, struct error *err)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	_cleanup_free_ char *group = cgroup_parent(path), *above = cgroup_parent(group),
			    *run_group = run_group_of(path), *top = cgroup_top(sys, run_group),
			    *file = xasprintf("%s/cpuset.cpus", group), *list = NULL;
	int rc = cgroup_read_cpus(sys, file, &cpus, err);

	if (rc)
		return rc;
	cpumask_and(&cpus, &sys->machine.online);
	for (int ms = 0; ms < PATIENCE_MS; ms += STEP_MS) {
		if (has_cpus(sys, above, &cpus) || has_cpus(sys, top, &cpus))
			return 0;
		wait_a_step();
	}
	list = cpumask_list(&cpus);
	return error_set(err, ETIMEDOUT, "the CPUs %s have not come back to %s within %d s", list,
	                 above, PATIENCE_MS / 1000);
}

/* What is gone has nothing left to give up. */
static int unless_gone(int rc, struct error *err)
{
	if (!errno_is_absent(-rc))
		return rc;
	if (err)
		error_clear(err);
	return 0;
}

/* Whatever became of a partition, its CPUs and its group must not go while the kernel counts CPUs
 * as its own: it may keep them isolated. The knobs of all come first; this is for what they had to
 * leave. */
static int give_up_partition(const struct system *sys, const char *group, struct error *err)
{
	_cleanup_free_ char *partition = xasprintf("%s/cpuset.cpus.partition", group), *kind = NULL;
	int rc = sysroot_read(&sys->root, partition, &kind, err);

	if (!rc && strcmp(kind, "member") != 0) {
		rc = sysroot_write(&sys->root, partition, "member", err);
		if (!rc)
			rc = wait_for_cpus(sys, partition, err);
	}
	return unless_gone(rc, err);
}

static int give_up_cpus(const struct system *sys, const char *group, struct error *err)
{
	_cleanup_free_ char *exclusive = xasprintf("%s/cpuset.cpus.exclusive", group), *cpus = NULL;
	int rc = give_up_partition(sys, group, err);

	if (rc)
		return rc;
	rc = sysroot_read(&sys->root, exclusive, &cpus, err);
	if (!rc && *cpus)
		rc = sysroot_write(&sys->root, exclusive, "", err);
	return unless_gone(rc, err);
}

struct removal {
	const struct system *sys;
	const char *above;  /* takes what is left in the groups */
	struct error error; /* the first */
};

static bool remove_with_all_below(void *ctx, const char *group)
{
	struct removal *removal = ctx;
	_cleanup_error_ struct error error = ERROR_INIT;
	int rc;

	cgroup_for_each(removal->sys, group, remove_with_all_below, ctx);
	rc = give_up_cpus(removal->sys, group, &error);
	if (!rc)
		rc = remove_when_empty(removal->sys, group, removal->above, &error);
	if (rc && !removal->error.err)
		error_move(&removal->error, &error);
	return false;
}

/* The command may have made groups below, as service managers and container engines do. What
 * cannot be removed keeps those above it, and is what is told of. */
static int remove_group(const struct system *sys, const char *path, struct error *err)
{
	_cleanup_free_ char *above = cgroup_parent(path);
	struct removal removal = { sys, above, ERROR_INIT };

	if (!cgroup_is_of_run(path))
		return error_set(err, EINVAL, "%s is not a group that chisol makes", path);
	remove_with_all_below(&removal, path);
	return removal.error.err ? error_move(err, &removal.error) : 0;
}

static int write_dir(const struct system *sys, const char *path, const char *value,
                     struct error *err)
{
	return value ? sysroot_mkdir(&sys->root, path, 0755, err) : remove_group(sys, path, err);
}

static void shell_dir(FILE *out, const char *path, const char *value)
{
	fputs(value ? "mkdir " : "rmdir ", out);
	shell_quote(out, path);
	putc('\n', out);
}

const struct knob_type knob_cgroup_dir = {
	.name = "cgroup-dir",
	.read = read_dir,
	.write = write_dir,
	.shell = shell_dir,
};

/* What the errors of the cpuset files mean (cpuset_write_resmask(), validate_change()). */
static const struct {
	int err;
	const char *reason;
	const char *text;
} cpuset_errors[] = {
	{ EACCES, REASON_CPU_CONFLICT,
	  "the group above does not have all of them; put the run's group elsewhere with [cgroup] "
	  "parent" },
	{ EINVAL, REASON_CPU_CONFLICT,
	  "another group has some of them exclusively, or has no others" },
	{ EBUSY, REASON_CPU_CONFLICT, "the group or one below it cannot do with these" },
	{ ENOSPC, REASON_INVALID_VALUE, "a group with tasks cannot be without CPUs or nodes" },
	{ ERANGE, REASON_INVALID_VALUE, "the kernel has no such CPU or node" },
	{ ENOENT, REASON_NO_CONTROLLER,
	  "the cpuset controller is not enabled in the group above (cgroup.subtree_control)" },
};

static void judge_cpus(const struct system *sys, struct knob *knob, const struct error *write_error)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	_cleanup_free_ char *run_group = NULL, *claims = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(cpuset_errors); i++) {
		if (write_error->err != cpuset_errors[i].err)
			continue;
		run_group = run_group_of(knob->path);
		if (cpuset_errors[i].reason == REASON_CPU_CONFLICT &&
		    !cpumask_parse_list(&cpus, knob->wanted))
			claims = cgroup_claims(sys, run_group, &cpus);
		knob_judge(knob, KNOB_REFUSED, cpuset_errors[i].reason, "%s: %s%s%s",
		           write_error->text, cpuset_errors[i].text, claims ? ": " : "",
		           claims ? claims : "");
	}
}

/* Linux 6.1 never gives back what a partition had whose CPUs are taken out of the file. */
static int write_cpus(const struct system *sys, const char *path, const char *value,
                      struct error *err)
{
	_cleanup_free_ char *group = cgroup_parent(path);
	int rc = value && !*value ? give_up_partition(sys, group, err) : 0;

	return rc ? rc : knob_file_write(sys, path, value, err);
}

const struct knob_type knob_cpuset_cpus = {
	.name = "cpuset-cpus",
	.read = knob_file_read,
	.write = write_cpus,
	.same = knob_same_cpulist,
	.judge = judge_cpus,
	.mortal = true, /* with its group, which may be another run's */
};

struct balance_search {
	const struct system *sys;
	const char *prefix; /* of the files */
	bool found;
};

static bool look_for_balance(void *ctx, const char *group)
{
	struct balance_search *search = ctx;
	_cleanup_free_ char *balance = xasprintf("%s/%ssched_load_balance", group, search->prefix),
			    *cpus = xasprintf("%s/%scpus", group, search->prefix), *on = NULL,
			    *list = NULL;

	search->found =
		search->found ||
		(!sysroot_read(&search->sys->root, balance, &on, NULL) && !strcmp(on, "1") &&
	         !sysroot_read(&search->sys->root, cpus, &list, NULL) && *list);
	return !search->found;
}

static int write_balance(const struct system *sys, const char *path, const char *value,
                         struct error *err)
{
	_cleanup_free_ char *group = cgroup_parent(path);
	struct balance_search search = { sys, strstr(path, "/cpuset.sched") ? "cpuset." : "",
		                         false };

	if (value && !strcmp(value, "0")) {
		cgroup_for_each(sys, group, look_for_balance, &search);
		if (!search.found)
			return error_set(err, EBUSY,
			                 "%s stays on: no set below balances load over the other "
			                 "CPUs",
			                 path);
	}
	return knob_file_write(sys, path, value, err);
}

const struct knob_type knob_cpuset_balance = {
	.name = "cpuset-balance",
	.read = knob_file_read,
	.write = write_balance,
	.same = knob_same_number,
};

/* perr_strings[] of kernel/cgroup/cpuset.c, from the most telling part of each. */
static const struct {
	const char *kernel;
	const char *remedy;
} partition_errors[] = {
	{ "is not a partition root",
	  "Linux before 6.7 makes a partition only at the root of the tree or below another one: "
	  "leave [cgroup] parent out" },
	{ "Parent is an invalid partition root",
	  "the partition above is broken: repair that one first" },
	{ "not exclusive", "take the CPUs out of cpuset.cpus of the groups beside it" },
	{ "Invalid cpu list in cpuset.cpus.exclusive",
	  "take the CPUs out of cpuset.cpus.exclusive of the groups beside it" },
	{ "Invalid cpu list in cpuset.cpus",
	  "take the CPUs out of cpuset.cpus of the groups beside it" },
	{ "distribute cpu downstream", "leave the group above at least one CPU" },
	{ "due to hotplug", "bring the CPUs online again" },
	{ "housekeeping",
	  "some of the CPUs are isolated since boot (isolcpus=), or no other CPU would be left: "
	  "ask for CPUs that are all of one kind, or for [cgroup] partition = member" },
	{ "empty", "the group has no CPUs: something cleared its cpuset.cpus" },
	{ "Remote partition not allowed",
	  "a partition below a plain group needs all capabilities: run chisol as root" },
};

static void judge_partition(const struct system *sys, struct knob *knob,
                            const struct error *write_error)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	_cleanup_free_ char *group = cgroup_parent(knob->path),
			    *run_group = run_group_of(knob->path),
			    *list = xasprintf("%s/cpuset.cpus", group), *claims = NULL;
	const char *reason = knob->granted ? strchr(knob->granted, '(') : NULL;

	if (knob->state == KNOB_GRANTED || write_error->err)
		return;
	if (!cgroup_read_cpus(sys, list, &cpus, NULL))
		claims = cgroup_claims(sys, run_group, &cpus);
	knob_judge(knob, KNOB_REFUSED, REASON_PARTITION_INVALID,
	           "the kernel took \"%s\" and made it \"%s\"%s%s%s", knob->wanted,
	           knob->granted ? knob->granted : "", reason ? "" : ", giving no reason",
	           claims ? "; these claim the same CPUs: " : "", claims ? claims : "");
	for (size_t i = 0; reason && i < ARRAY_SIZE(partition_errors); i++)
		if (strstr(reason, partition_errors[i].kernel)) {
			xreplace(&knob->remedy, partition_errors[i].remedy);
			return;
		}
}

static int leave_some_cpus(const struct system *sys, const char *path, struct error *err)
{
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT, left = CPUMASK_INIT;
	_cleanup_free_ char *group = cgroup_parent(path), *run_group = run_group_of(path),
			    *file = xasprintf("%s/cpuset.cpus", group), *list = NULL;
	int rc = cgroup_read_cpus(sys, file, &cpus, err);

	if (!rc)
		rc = cgroup_cpus_left(&left, sys, run_group, &cpus, err);
	if (rc || !cpumask_empty(&left))
		return rc;
	list = cpumask_list(&cpus);
	return error_set(err, EBUSY,
	                 "cannot make %s a partition: CPUs %s are the last that are not isolated",
	                 group, list);
}

static int write_partition(const struct system *sys, const char *path, const char *value,
                           struct error *err)
{
	int rc = 0;

	if (value && strcmp(value, "member")) {
		rc = leave_some_cpus(sys, path, err);
		/* From an invalid partition to another kind there is no way but this one. */
		if (!rc)
			rc = knob_file_write(sys, path, "member", err);
	}
	if (!rc)
		rc = knob_file_write(sys, path, value, err);
	if (!rc && value && !strcmp(value, "member"))
		rc = wait_for_cpus(sys, path, err);
	return rc;
}

const struct knob_type knob_cpuset_partition = {
	.name = "cpuset-partition",
	.read = knob_file_read,
	.write = write_partition,
	.judge = judge_partition,
};

struct usage {
	const struct system *sys;
	char *by;
};

static bool look_for_run(void *ctx, const char *group)
{
	bool *found = ctx;

	*found = *found || cgroup_is_of_run(group);
	return !*found;
}

/* A group that has settings of its own, or hands the controller on, uses it; unless it does so
 * for a run in it. */
static bool look_for_use(void *ctx, const char *group)
{
	static const char *const files[] = { "cpuset.cpus", "cpuset.mems",
		                             "cpuset.cpus.exclusive" };
	struct usage *usage = ctx;
	_cleanup_free_ char *control = xasprintf("%s/cgroup.subtree_control", group), *text = NULL;
	bool used, for_run = cgroup_is_of_run(group);

	if (!for_run)
		cgroup_for_each(usage->sys, group, look_for_run, &for_run);
	if (usage->by || for_run)
		return false;
	used = !sysroot_read(&usage->sys->root, control, &text, NULL) &&
	       cgroup_has_word(text, " ", "cpuset");
	for (size_t i = 0; !used && i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ char *path = xasprintf("%s/%s", group, files[i]), *value = NULL;

		used = !sysroot_read(&usage->sys->root, path, &value, NULL) && *value;
	}
	if (used)
		usage->by = xstrdup(group);
	return false;
}

static int read_controller(const struct system *sys, const char *path, char **value,
                           struct error *err)
{
	_cleanup_free_ char *text = NULL, *group = cgroup_parent(path);
	struct usage usage = { sys, NULL };
	int rc = sysroot_read(&sys->root, path, &text, err);

	*value = NULL;
	if (rc)
		return rc;
	if (!cgroup_has_word(text, " ", "cpuset")) {
		*value = xstrdup(CONTROLLER_OFF);
		return 0;
	}
	if (!cgroup_is_of_run(path))
		cgroup_for_each(sys, group, look_for_use, &usage);
	*value = usage.by ? xasprintf(CONTROLLER_ON ", used by %s", usage.by)
	                  : xstrdup(CONTROLLER_ON);
	free(usage.by);
	return 0;
}

/* That others use it, too, matters to who would turn it off, not to the run. */
static bool controller_serves(const char *value, const char *wanted)
{
	return !strncmp(value, wanted, strlen(wanted));
}

static void judge_controller(const struct system *sys, struct knob *knob,
                             const struct error *write_error)
{
	(void)sys;
	if (write_error->err == EBUSY || write_error->err == EOPNOTSUPP)
		knob_judge(knob, KNOB_REFUSED, REASON_NOT_DELEGATED,
		           "%s: the group has processes of its own; give chisol a group without, "
		           "by [cgroup] parent",
		           write_error->text);
	else if (write_error->err == ENOENT)
		knob_judge(knob, KNOB_REFUSED, REASON_NOT_DELEGATED,
		           "%s: the group above does not hand the cpuset controller down",
		           write_error->text);
}

const struct knob_type knob_cgroup_controller = {
	.name = "cgroup-controller",
	.serves = controller_serves,
	.read = read_controller,
	.write = knob_file_write,
	.judge = judge_controller,
};

static bool same_threading(const char *a, const char *b)
{
	return !strcmp(a, "threaded") == !strcmp(b, "threaded");
}

const struct knob_type knob_cgroup_type = {
	.name = "cgroup-type",
	.same = same_threading,
	.read = knob_file_read,
	.write = knob_file_write,
};
