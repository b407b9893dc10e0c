/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The run's own groups: GROUP/chisol-RUN_ID with hot, where the command starts, on the workload's
 * CPUs, and help, for helper threads, on housekeeping CPUs.
 */
#include "cgroup_plan.h"
#include "cgroup_claims.h"

#include <errno.h>
#include <fcntl.h>
#include <libcgroup.h>
#include <sys/xattr.h>

struct knob *cgroup_add(const struct cgroup_planner *p, const struct knob_type *type,
                        const char *group, const char *file, const char *found, const char *wanted,
                        const char *why)
{
	const char *below = group + strlen(p->run);
	const char *key = strrchr(file, '.');
	_cleanup_free_ char *path = *file ? xasprintf("%s/%s", group, file) : xstrdup(group);
	_cleanup_free_ char *name = xasprintf("cgroup.%s%s%s", *below ? below + 1 : "run",
	                                      *file ? "." : "", key ? key + 1 : file);
	struct knob *knob = plan_add(p->plan, &facility_cgroup, type, p->req->cgroup.policy, name,
	                             path, found, wanted, why);

	knob->fresh = *file || *below;
	return knob;
}

char *cgroup_add_group(const struct cgroup_planner *p, const char *name, const char *why)
{
	char *group = *name ? xasprintf("%s/%s", p->run, name) : xstrdup(p->run);

	cgroup_add(p, &knob_cgroup_dir, group, "", NULL, CGROUP_PRESENT, why);
	return group;
}

void cgroup_refuse(const struct cgroup_planner *p, const char *reason, const char *remedy,
                   const char *fmt, ...)
{
	_cleanup_free_ char *detail = NULL;
	struct knob *knob;
	va_list ap;

	va_start(ap, fmt);
	detail = xvasprintf(fmt, ap);
	va_end(ap);
	knob = plan_add(p->plan, &facility_cgroup, &knob_cgroup_dir, p->req->cgroup.policy,
	                "cgroup.run", p->run ? p->run : "/sys/fs/cgroup", NULL, CGROUP_PRESENT,
	                "the run's own group");
	xreplace(&knob->remedy, remedy);
	knob_judge(knob, KNOB_UNAVAILABLE, reason, "%s", detail);
}

struct join {
	enum cgroup_kind kind;
	char *run;    /* the threaded domain to go through; NULL: straight in */
	char *target; /* path of the group */
	char *name;   /* of the group that takes the process, as libcgroup has it; NULL: unknown */
};

static int enter_by_libcgroup(const char *name, struct error *err)
{
	struct cgroup *group = cgroup_new_cgroup(name);
	int rc = group && cgroup_add_controller(group, "cpuset") ? cgroup_attach_task(group)
	                                                         : ECGFAIL;
	int last = rc == ECGOTHER ? cgroup_get_last_errno() : EIO;

	if (group)
		cgroup_free(&group);
	return rc ? error_set(err, last ? last : EIO, "cannot join the group %s: %s", name,
	                      cgroup_strerror(rc))
	          : 0;
}

/* libcgroup cannot move threads; and a mount that it does not know has only its files. */
static int enter(const struct system *sys, const struct join *join, struct error *err)
{
	_cleanup_free_ char *procs = xasprintf("%s/cgroup.procs",
	                                       join->run ? join->run : join->target),
			    *threads = xasprintf("%s/cgroup.threads", join->target);
	int rc = join->name ? enter_by_libcgroup(join->name, err)
	                    : sysroot_write(&sys->root, procs, "0", err);

	return rc || !join->run ? rc : sysroot_write(&sys->root, threads, "0", err);
}

static int join_apply(const struct system *sys, struct task_setting *t, struct error *err)
{
	const struct join *join = t->data;
	int rc = enter(sys, join, err);

	if (rc) {
		task_judge(t, KNOB_REFUSED, reason_of_errno(-rc), "%s", err ? err->text : "");
		return rc;
	}
	free(t->granted);
	rc = cgroup_of(sys, join->kind, 0, &t->granted, err);
	if (rc) {
		task_judge(t, KNOB_REFUSED, REASON_UNREADABLE, "%s", err ? err->text : "");
		return rc;
	}
	if (strcmp(t->granted, t->wanted)) {
		rc = error_set(err, EIO, "joined %s, and /proc/self/cgroup says %s", t->wanted,
		               t->granted);
		task_judge(t, KNOB_REFUSED, REASON_READ_BACK_DIFFERS, "/proc/self/cgroup says %s",
		           t->granted);
		return rc;
	}
	task_judge(t, KNOB_GRANTED, REASON_GRANTED, NULL);
	return 0;
}

static int join_observe(const struct system *sys, const struct task_setting *t, pid_t pid,
                        char **value)
{
	const struct join *join = t->data;

	return cgroup_of(sys, join->kind, pid, value, NULL);
}

static void join_shell(FILE *out, const struct task_setting *t)
{
	const struct join *join = t->data;

	fputs("echo $$ > ", out);
	shell_quote(out, join->run ? join->run : join->target);
	fputs("/cgroup.procs\n", out);
	if (join->run) {
		fputs("echo $$ > ", out);
		shell_quote(out, join->target);
		fputs("/cgroup.threads\n", out);
	}
}

static void join_free(void *data)
{
	struct join *join = data;

	free(join->run);
	free(join->target);
	free(join->name);
	free(join);
}

static const struct task_op join_op = {
	.stage = TASK_STAGE_CGROUP,
	.apply = join_apply,
	.observe = join_observe,
	.free_data = join_free,
	.shell = join_shell,
};

void cgroup_set_groups(const struct cgroup_planner *p, const char *start, const char *help,
                       bool threaded)
{
	struct join *join = xcalloc(1, sizeof(*join));
	_cleanup_free_ char *shown =
		xasprintf("%s%s", p->world->root, start + strlen(p->world->mount));
	struct task_setting *task;

	join->kind = p->world->kind;
	join->run = threaded ? xstrdup(p->run) : NULL;
	join->target = xstrdup(start);
	if (p->world->libcgroup)
		join->name = xstrdup((threaded ? p->run : start) + strlen(p->world->mount) + 1);
	task = plan_add_task(p->plan, &facility_cgroup, &join_op, p->req->cgroup.policy,
	                     "cgroup.join", shown, "the command starts on the workload's CPUs");
	task->data = join;
	xreplace(&p->plan->hot_group, start);
	xreplace(&p->plan->help_group, help);
}

/* Masks that the kernel will change and not give back. */
struct reduction {
	const struct cgroup_planner *p;
	const struct cpumask *full;    /* what the tasks of the group have that asked for nothing */
	const struct cpumask *reduced; /* what they will have */
};

/* A task that loses all its CPUs may use all that are left to its group, those that are isolated
 * since boot too, unless it is moved before. */
static bool move_off_isolated(const struct reduction *reduction, const char *path, const char *name,
                              const char *found)
{
	const struct cgroup_planner *p = reduction->p;
	_cleanup_cpumask_ struct cpumask cpus = CPUMASK_INIT;
	_cleanup_free_ char *wanted = NULL;

	cpumask_copy(&cpus, &p->req->cpus.housekeeping);
	cpumask_and(&cpus, reduction->reduced);
	if (cpumask_empty(&cpus))
		return false;
	wanted = cpumask_list(&cpus);
	plan_add(p->plan, &facility_cgroup, &knob_task_affinity, POLICY_TRY, name, path, found,
	         wanted, "it would be put on CPUs that are isolated since boot")
		->avoid = &p->req->cpus.workload;
	return true;
}

static void add_mask(const struct reduction *reduction, const struct process *task,
                     const struct cpumask *mask)
{
	const struct cgroup_planner *p = reduction->p;
	_cleanup_cpumask_ struct cpumask kept = CPUMASK_INIT;
	_cleanup_free_ char *path = task_affinity_path(task),
			    *name = xasprintf("cgroup.mask.%d", (int)task->pid),
			    *list = cpumask_list(mask), *full = cpumask_list(reduction->full),
			    *reduced = cpumask_list(reduction->reduced), *rest = NULL,
			    *wanted = NULL;

	cpumask_copy(&kept, mask);
	cpumask_and(&kept, reduction->reduced);
	if (cpumask_empty(&kept) &&
	    cpumask_intersects(reduction->reduced, &p->sys->machine.isolated) &&
	    move_off_isolated(reduction, path, name, list))
		return;
	rest = cpumask_list(&kept);
	wanted = xasprintf("%s|%s%s%s|%s", list, rest, *rest ? "|" : "", reduced, full);
	plan_add(p->plan, &facility_cgroup, &knob_task_mask, POLICY_TRY, name, path, list, wanted,
	         "this kernel does not give the mask of a task back");
}

void cgroup_add_masks(const struct cgroup_planner *p, const char *file, const struct cpumask *full,
                      const struct cpumask *reduced, bool kernel_threads)
{
	struct reduction reduction = { p, full, reduced };
	_cleanup_free_ pid_t *tids = NULL;
	size_t n;

	if (!cgroup_masks_get_lost(&p->sys->machine) ||
	    cgroup_list_tasks(p->sys, file, &tids, &n, NULL))
		return;
	for (size_t i = 0; i < n; i++) {
		_cleanup_cpumask_ struct cpumask mask = CPUMASK_INIT;
		struct process task;

		if (process_read(&task, &p->sys->root, tids[i], NULL) ||
		    (task.flags & PROCESS_NO_SETAFFINITY) ||
		    (!kernel_threads && (task.flags & PROCESS_KTHREAD)) ||
		    task_affinity_read(&mask, p->sys, tids[i], NULL) || cpumask_equal(&mask, full))
			continue;
		add_mask(&reduction, &task, &mask);
	}
}

/* May the caller write to a file or directory of the tree? In a recorded tree: anybody. */
static bool is_writable(const struct system *sys, const char *group, const char *file)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", group, file);

	if (!sys->root.live) {
		int mode = sysroot_mode(&sys->root, path);

		return mode > 0 && mode & 0222;
	}
	return !faccessat(sys->root.fd, path + strspn(path, "/"), W_OK, AT_EACCESS);
}

/* Groups can be made in it, their controllers handed down, and processes moved among them
 * (Documentation/admin-guide/cgroup-v2.rst, "Delegation"). */
static bool is_callers(const struct system *sys, const char *group)
{
	return is_writable(sys, group, ".") && is_writable(sys, group, "cgroup.procs") &&
	       is_writable(sys, group, "cgroup.subtree_control");
}

/* Is it marked as systemd marks what it delegates (systemd.resource-control(5), Delegate=)? */
static bool is_marked(const struct system *sys, const char *group)
{
	_cleanup_close_ int dir = sysroot_openat(&sys->root, group, O_RDONLY | O_DIRECTORY, NULL);
	char value = '0';

	return dir >= 0 &&
	       (fgetxattr(dir, "user.delegate", &value, 1) == 1 ||
	        fgetxattr(dir, "trusted.delegate", &value, 1) == 1) &&
	       value == '1';
}

/*
 * The root of the tree or, where that belongs to somebody else, the uppermost group above the
 * caller that does not: what systemd or a container's creator has delegated to it.
 */
static void default_parent(struct cgroup_planner *p)
{
	const char *mount = p->world->mount;
	_cleanup_free_ char *own = xasprintf("%s%s", mount, p->world->own);

	p->parent = xstrdup(mount);
	if (p->world->kind != CGROUP_V2 || p->world->read_only || is_callers(p->sys, mount))
		return;
	for (const char *end = own + strlen(mount); *end && !p->delegated;) {
		_cleanup_free_ char *group = NULL;

		end += 1 + strcspn(end + 1, "/");
		group = xstrndup(own, (size_t)(end - own));
		p->delegated = is_callers(p->sys, group);
		if (p->delegated)
			xreplace(&p->parent, group);
	}
	if (p->delegated)
		plan_note(
			p->plan, &facility_cgroup, REASON_NOT_DELEGATED,
			"the run's group is made in %s, which is delegated to chisol%s; all above "
			"belongs to somebody else",
			p->parent, is_marked(p->sys, p->parent) ? " by systemd" : "");
}

static int find_parent(struct cgroup_planner *p, struct error *err)
{
	const char *asked = p->req->cgroup.parent, *name;
	size_t n = strlen(p->world->mount);

	if (!asked) {
		default_parent(p);
		return 0;
	}
	/* As a path of the file system, or as in /proc/PID/cgroup. */
	name = !strncmp(asked, p->world->mount, n) && (!asked[n] || asked[n] == '/') ? asked + n
	                                                                             : asked;
	name += strspn(name, "/");
	n = strlen(name);
	while (n && name[n - 1] == '/')
		n--;
	if (cgroup_has_word(name, "/", "..") || strchr(name, '\n'))
		return error_set(err, EINVAL, "[cgroup] parent = %s is not the name of a group",
		                 asked);
	p->parent =
		n ? xasprintf("%s/%.*s", p->world->mount, (int)n, name) : xstrdup(p->world->mount);
	if (!cgroup_has_file(p->sys, p->parent, "cgroup.procs"))
		return error_set(err, ENOENT, "[cgroup] parent = %s: there is no such group (%s)",
		                 asked, p->parent);
	return 0;
}

/* Linux gives the tasks of a v2 group its CPUs anew when a partition takes some, and so those that
 * are isolated since boot: all tasks before 6.2, since then those that never asked for a mask. */
static bool gives_isolated_away(const struct cgroup_planner *p)
{
	return p->world->kind == CGROUP_V2 && !cpumask_empty(&p->sys->machine.isolated);
}

static void settle_partition(struct cgroup_planner *p)
{
	bool boot_isolated = cpumask_subset(&p->req->cpus.workload, &p->sys->machine.isolated);
	enum partition asked = p->req->cgroup.partition;
	bool start_run = p->world->kind == CGROUP_V2 && p->req->cgroup.start == START_RUN;

	p->partition = asked == PARTITION_AUTO ? PARTITION_ISOLATED : asked;
	if (p->partition == PARTITION_MEMBER)
		return;
	/* Linux 6.12 makes a partition of such CPUs invalid, and there is nothing to gain. */
	if (p->delegated && asked == PARTITION_AUTO && !boot_isolated && !start_run) {
		plan_note(p->plan, &facility_cgroup, REASON_NOT_DELEGATED,
		          "no partition is made: it would need its CPUs exclusively in all groups "
		          "above as well");
		p->partition = PARTITION_MEMBER;
	}
	if (asked == PARTITION_AUTO && gives_isolated_away(p) && !boot_isolated && !start_run) {
		plan_note(p->plan, &facility_cgroup, REASON_KERNEL_DEFECT,
		          "no partition is made: the kernel would let other tasks run on the CPUs "
		          "that are isolated since boot; ask for some of those, or set [cgroup] "
		          "partition = isolated");
		p->partition = PARTITION_MEMBER;
	}
	if (boot_isolated)
		plan_note(p->plan, &facility_cgroup, REASON_BOOT_ISOLATED,
		          "the workload's CPUs are isolated since boot (isolcpus=): no partition "
		          "is made, the command is pinned to them");
	else if (start_run)
		plan_note(p->plan, &facility_cgroup, REASON_ABSENT,
		          "no partition is made, as the command is to start in a group with "
		          "housekeeping CPUs as well ([cgroup] start = run)");
	if (boot_isolated || start_run)
		p->partition = PARTITION_MEMBER;
}

static int plan_in_world(struct cgroup_planner *p, const char *run_id, struct error *err)
{
	const struct request *req = p->req;
	bool boot_isolated = cpumask_subset(&req->cpus.workload, &p->sys->machine.isolated);
	int rc;

	if (p->world->kind == CGROUP_NONE) {
		cgroup_refuse(p, REASON_NO_CONTROLLER,
		              "mount a hierarchy with the cpuset controller, or set [cgroup] "
		              "policy = off",
		              "%s", p->world->sentence);
		return 0;
	}
	rc = find_parent(p, err);
	if (rc)
		return rc;
	p->run = xasprintf("%s/" CGROUP_RUN_PREFIX "%s", p->parent, run_id);
	if (p->world->read_only) {
		cgroup_refuse(p, REASON_READ_ONLY,
		              "run chisol outside the container, or have the tree mounted "
		              "writable",
		              "%s", p->world->sentence);
		return 0;
	}
	settle_partition(p);
	if (boot_isolated && req->cgroup.helpers != ANSWER_YES && req->cgroup.start == START_HOT)
		return 0;
	if (cpumask_empty(&req->cpus.housekeeping))
		return error_set(err, EINVAL,
		                 "no housekeeping CPU is left beside the workload's: leave at "
		                 "least one to everybody else");
	if (cpumask_weight(&req->cpus.workload) > 1 &&
	    (p->partition == PARTITION_ISOLATED || boot_isolated))
		plan_note(p->plan, &facility_cgroup, REASON_THREADS_STACK,
		          "load is not balanced among the workload's %u CPUs: all threads of the "
		          "command stay where they start unless they pin themselves; [cgroup] "
		          "partition = root balances them",
		          cpumask_weight(&req->cpus.workload));
	return p->world->kind == CGROUP_V1 ? cgroup_plan_v1(p, err) : cgroup_plan_v2(p, err);
}

static int plan_cgroup(struct plan *plan, const struct system *sys, const struct request *req,
                       const char *run_id, struct error *err)
{
	_cleanup_cgroup_world_ struct cgroup_world world = { 0 };
	struct cgroup_planner p = { .plan = plan, .sys = sys, .req = req, .world = &world };
	int rc;

	if (!policy_asked(req->cgroup.policy))
		return 0;
	rc = cgroup_world_read(&world, sys, err);
	if (!rc) {
		cgroup_world_ask_libcgroup(&world, sys);
		rc = plan_in_world(&p, run_id, err);
	}
	free(p.parent);
	free(p.run);
	return rc;
}

const struct facility facility_cgroup = {
	.name = "cgroup",
	.title = "cpusets",
	.plan = plan_cgroup,
};
