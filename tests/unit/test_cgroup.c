/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "../../isolcore/cgroup_claims.h"
#include "../../isolcore/cgroup_knobs.h"
#include "../../isolcore/cgroup_tasks.h"
#include "../../isolcore/cgroup_world.h"
#include "../../isolcore/facility.h"
#include "tree.h"

/* Eight CPUs, nothing isolated at boot. */
#define MACHINE(release)                                                                           \
	{ "sys/devices/system/cpu/online", "0-7" }, { "sys/devices/system/cpu/possible", "0-15" }, \
		{ "proc/filesystems", "nodev\tcgroup\nnodev\tcgroup2" },                           \
	{                                                                                          \
		"proc/sys/kernel/osrelease", release                                               \
	}

#define V1_SET(dir, cpus, balance)                                                       \
	{ dir "/cgroup.procs", "" }, { dir "/tasks", "" }, { dir "/cpuset.cpus", cpus }, \
		{ dir "/cpuset.effective_cpus", cpus }, { dir "/cpuset.mems", "0-1" },   \
		{ dir "/cpuset.cpu_exclusive", "0" },                                    \
	{                                                                                \
		dir "/cpuset.sched_load_balance", balance                                \
	}

#define V1_MOUNT(options)                             \
	"40 31 0:30 / /sys/fs/cgroup/cpuset " options \
	",relatime shared:7 - cgroup cgroup " options ",cpuset"
#define V2_MOUNT(point) "42 31 0:27 / " point " rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"

#define V2_ROOT(dir, controllers, enabled)                                                      \
	{ dir "/cgroup.controllers", controllers }, { dir "/cgroup.subtree_control", enabled }, \
		{ dir "/cgroup.procs", "" }, { dir "/cgroup.threads", "" },                     \
	{                                                                                       \
		dir "/cpuset.cpus.effective", "0-7"                                             \
	}

#define V2_GROUP(dir, cpus, partition)                                                 \
	{ dir "/cgroup.controllers", "cpuset" }, { dir "/cgroup.procs", "" },          \
		{ dir "/cgroup.type", "domain" }, { dir "/cgroup.threads", "" },       \
		{ dir "/cpuset.cpus", cpus }, { dir "/cpuset.cpus.effective", "0-7" }, \
	{                                                                              \
		dir "/cpuset.cpus.partition", partition                                \
	}

#define V1_ROOT "sys/fs/cgroup/cpuset"
#define V1_PLACE                                       \
	{ "proc/self/mountinfo", V1_MOUNT("rw") },     \
	{                                              \
		"proc/self/cgroup", "3:cpuset:/\n0::/" \
	}
#define V1_FILES V1_PLACE, { V1_ROOT "/release_agent", "" }, V1_SET(V1_ROOT, "0-7", "1")
#define V2_FILES(release)                                                        \
	MACHINE(release), { "proc/self/mountinfo", V2_MOUNT("/sys/fs/cgroup") }, \
		{ "proc/self/cgroup", "0::/user.slice" },                        \
		V2_ROOT("sys/fs/cgroup", "cpuset cpu memory", "memory")

/* Worlds */

struct world_case {
	const char *name;
	struct tree_file files[24];
	enum cgroup_kind kind;
	const char *mount, *own, *prefix, *sentence;
	bool whole, hybrid, read_only, exclusive;
};

static const struct world_case world_cases[] = {
	{ "v1",
	  { MACHINE("6.1.0"), V1_FILES, { 0 } },
	  CGROUP_V1,
	  "/sys/fs/cgroup/cpuset",
	  "",
	  "cpuset.",
	  "cpusets by cgroup v1 at /sys/fs/cgroup/cpuset",
	  .whole = true },
	{ "v1 at a mount point with a blank, without prefix",
	  { MACHINE("6.1.0"),
	    { "proc/self/mountinfo",
	      "9 8 0:30 / /dev/cpu\\040set rw - cgroup none rw,cpuset,noprefix" },
	    { "proc/self/cgroup", "3:cpuset:/a/b" },
	    { "dev/cpu set/cpus", "0-7" },
	    { "dev/cpu set/release_agent", "" },
	    { 0 } },
	  CGROUP_V1,
	  "/dev/cpu set",
	  "/a/b",
	  "",
	  "cpusets by cgroup v1 at /dev/cpu set (noprefix)",
	  .whole = true },
	{ "v1 together with another controller, and one named like it",
	  { MACHINE("6.1.0"),
	    { "proc/self/mountinfo",
	      "9 8 0:30 / /c rw - cgroup x rw,name=cpuset\n8 8 0:29 / /d rw - cgroup x rw,cpu,cpuset" },
	    { "proc/self/cgroup", "3:name=cpuset:/wrong\n2:cpu,cpuset:/right" },
	    { "c/cpuset.cpus", "" },
	    { "d/cpuset.cpus", "0-7" },
	    { 0 } },
	  CGROUP_V1,
	  "/d",
	  "/right",
	  "cpuset.",
	  "cpusets by cgroup v1 at /d, of which this container sees a part",
	  .whole = false },
	{ "v1 in a container, read-only, its own group mounted",
	  { MACHINE("6.1.0"),
	    { "proc/self/mountinfo",
	      "9 8 0:30 /docker/1f /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset" },
	    { "proc/self/cgroup", "3:cpuset:/docker/1f/x" },
	    V1_SET(V1_ROOT, "0-3", "1"),
	    { 0 } },
	  CGROUP_V1,
	  "/sys/fs/cgroup/cpuset",
	  "/x",
	  "cpuset.",
	  "cpusets by cgroup v1 at /sys/fs/cgroup/cpuset, of which this container sees a part, "
	  "read-only",
	  .read_only = true },
	{ "the same hierarchy twice, once writable",
	  { MACHINE("6.1.0"),
	    { "proc/self/mountinfo", "9 8 0:30 / /a ro - cgroup x rw,cpuset\n"
	                             "9 8 0:30 / /b rw - cgroup x rw,cpuset\n"
	                             "9 8 0:30 / /c rw - cgroup x rw,cpuset" },
	    { "proc/self/cgroup", "3:cpuset:/" },
	    { "a/cpuset.cpus", "" },
	    { "b/cpuset.cpus", "" },
	    { "b/release_agent", "" },
	    { "c/cpuset.cpus", "" },
	    { 0 } },
	  CGROUP_V1,
	  "/b",
	  "",
	  "cpuset.",
	  "cpusets by cgroup v1 at /b",
	  .whole = true },
	{ "v2 before 6.7",
	  { V2_FILES("6.1.0-50-amd64"), { 0 } },
	  CGROUP_V2,
	  "/sys/fs/cgroup",
	  "/user.slice",
	  "cpuset.",
	  "cpusets by cgroup v2 at /sys/fs/cgroup",
	  .whole = true },
	{ "v2 since 6.7",
	  { V2_FILES("6.12.0"), { "run/systemd/system/x", "" }, { 0 } },
	  CGROUP_V2,
	  "/sys/fs/cgroup",
	  "/user.slice",
	  "cpuset.",
	  "cpusets by cgroup v2 at /sys/fs/cgroup, managed by systemd",
	  .whole = true,
	  .exclusive = true },
	{ "v2 of an older kernel that has the exclusive file all the same",
	  { V2_FILES("5.14.0-570.el9"),
	    V2_GROUP("sys/fs/cgroup/a", "", "member"),
	    { "sys/fs/cgroup/a/cpuset.cpus.exclusive", "" },
	    { 0 } },
	  CGROUP_V2,
	  "/sys/fs/cgroup",
	  "/user.slice",
	  "cpuset.",
	  "cpusets by cgroup v2 at /sys/fs/cgroup",
	  .whole = true,
	  .exclusive = true },
	{ "v2 in a container's name space",
	  { V2_FILES("6.1.0"), { "sys/fs/cgroup/cgroup.type", "domain" }, { 0 } },
	  CGROUP_V2,
	  "/sys/fs/cgroup",
	  "/user.slice",
	  "cpuset.",
	  "cpusets by cgroup v2 at /sys/fs/cgroup, of which this container sees a part",
	  .whole = false },
	{ "hybrid, cpuset on v1",
	  { MACHINE("6.1.0"),
	    { "proc/self/mountinfo", V2_MOUNT("/sys/fs/cgroup/unified") "\n" V1_MOUNT("rw") },
	    { "proc/self/cgroup", "3:cpuset:/s\n0::/u" },
	    V2_ROOT("sys/fs/cgroup/unified", "memory", ""),
	    { V1_ROOT "/cpuset.cpus", "0-7" },
	    { V1_ROOT "/release_agent", "" },
	    { 0 } },
	  CGROUP_V1,
	  "/sys/fs/cgroup/cpuset",
	  "/s",
	  "cpuset.",
	  "cpusets by cgroup v1 at /sys/fs/cgroup/cpuset, beside hierarchies of the other version",
	  .whole = true,
	  .hybrid = true },
	{ "hybrid, cpuset on v2",
	  { MACHINE("6.1.0"),
	    { "proc/self/mountinfo",
	      "40 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup x rw,cpu\n" V2_MOUNT(
		      "/sys/fs/cgroup/unified") },
	    { "proc/self/cgroup", "3:cpu:/s\n0::/u" },
	    V2_ROOT("sys/fs/cgroup/unified", "cpuset memory", ""),
	    { 0 } },
	  CGROUP_V2,
	  "/sys/fs/cgroup/unified",
	  "/u",
	  "cpuset.",
	  "cpusets by cgroup v2 at /sys/fs/cgroup/unified, beside hierarchies of the other version",
	  .whole = true,
	  .hybrid = true },
	{ "v2 without the controller",
	  { MACHINE("6.1.0"),
	    { "proc/self/mountinfo", V2_MOUNT("/sys/fs/cgroup") },
	    { "proc/self/cgroup", "0::/" },
	    { "sys/fs/cgroup/cgroup.controllers", "cpuset_like memory" },
	    { 0 } },
	  CGROUP_NONE,
	  NULL,
	  NULL,
	  "cpuset.",
	  "no cpusets: the cgroup v2 tree that is mounted here does not offer the cpuset "
	  "controller: a v1 hierarchy holds it, the container's creator did not delegate it, or "
	  "the kernel is built without CONFIG_CPUSETS",
	  .whole = false },
	{ "nothing mounted",
	  { MACHINE("6.1.0"),
	    { "proc/self/mountinfo", "22 1 0:20 / / rw - ext4 /dev/vda rw\ngarbage\n1 2 - x" },
	    { 0 } },
	  CGROUP_NONE,
	  NULL,
	  NULL,
	  "cpuset.",
	  "no cpusets: no cgroup file system is mounted",
	  .whole = false },
	{ "no control groups in the kernel",
	  { { "sys/devices/system/cpu/online", "0" },
	    { "proc/filesystems", "nodev\tproc\n\text4" },
	    { "proc/self/mountinfo", "22 1 0:20 / / rw - ext4 /dev/vda rw" },
	    { 0 } },
	  CGROUP_NONE,
	  NULL,
	  NULL,
	  "cpuset.",
	  "no cpusets: this kernel is built without control groups (CONFIG_CGROUPS)",
	  .whole = false },
};

static void assert_same_string(const char *a, const char *b)
{
	if (a && b)
		assert_string_equal(a, b);
	else
		assert_ptr_equal(a, b);
}

static void every_world_is_recognized(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(world_cases); i++) {
		const struct world_case *c = &world_cases[i];
		_cleanup_tree_ struct tree *tree = tree_open(c->files);
		_cleanup_cgroup_world_ struct cgroup_world world = { 0 };

		print_message("           %s\n", c->name);
		assert_int_equal(cgroup_world_read(&world, &tree->sys, NULL), 0);
		assert_string_equal(world.sentence, c->sentence);
		assert_int_equal(world.kind, c->kind);
		assert_same_string(world.mount, c->mount);
		assert_same_string(world.own, c->own);
		assert_string_equal(world.prefix, c->prefix);
		assert_int_equal(world.whole, c->whole);
		assert_int_equal(world.hybrid, c->hybrid);
		assert_int_equal(world.read_only, c->read_only);
		assert_int_equal(world.exclusive, c->exclusive);
	}
}

/* Plans */

struct planned {
	struct tree *tree;
	struct plan plan;
	struct error err;
	int rc;
};

static void free_planned(struct planned *p)
{
	plan_free(&p->plan);
	error_clear(&p->err);
	tree_close(p->tree);
}
#define _cleanup_planned_ _cleanup_(free_planned)

/* Workload 2-3, housekeeping what else is online and not isolated; change tells what else. */
static void plan_in(struct planned *p, struct tree *tree, void (*change)(struct request *req))
{
	_cleanup_request_ struct request req;

	*p = (struct planned){ .tree = tree, .plan = PLAN_INIT, .err = ERROR_INIT };
	request_init(&req);
	req.cgroup.policy = POLICY_REQUIRE;
	assert_int_equal(cpumask_parse_list(&req.cpus.workload, "2-3"), 0);
	if (change)
		change(&req);
	cpumask_copy(&req.cpus.housekeeping, &p->tree->sys.machine.online);
	cpumask_andnot(&req.cpus.housekeeping, &req.cpus.workload);
	cpumask_andnot(&req.cpus.housekeeping, &p->tree->sys.machine.isolated);
	p->rc = facility_cgroup.plan(&p->plan, &p->tree->sys, &req, "7-42", &p->err);
	if (!p->rc)
		p->rc = facility_affinity.plan(&p->plan, &p->tree->sys, &req, "7-42", &p->err);
}

static void plan_on(struct planned *p, const struct tree_file *files,
                    void (*change)(struct request *req))
{
	plan_in(p, tree_open(files), change);
}

/* Knobs and task settings, one a line: name, what is found, what is wanted. */
static char *written(const struct planned *p)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < p->plan.n_knobs; i++) {
		const struct knob *k = p->plan.knobs[i];
		char *more = xasprintf("%s%s: %s -> %s\n", text, k->name,
		                       k->found ? k->found : "(none)", k->wanted);

		free(text);
		text = more;
		assert_int_equal(k->state, KNOB_PLANNED);
		assert_non_null(knob_type_by_name(k->type->name));
	}
	for (size_t i = 0; i < p->plan.n_tasks; i++) {
		char *more = xasprintf("%s%s: %s\n", text, p->plan.tasks[i]->name,
		                       p->plan.tasks[i]->wanted);

		free(text);
		text = more;
	}
	return text;
}

static void expect_written(const struct planned *p, const char *expected)
{
	_cleanup_free_ char *text = written(p);

	assert_int_equal(p->rc, 0);
	assert_string_equal(text, expected);
}

/* The single knob of a plan that cannot be. */
static void expect_refused(const struct planned *p, const char *reason, const char *part)
{
	assert_int_equal(p->rc, 0);
	assert_int_equal(p->plan.n_knobs, 1);
	assert_int_equal(p->plan.knobs[0]->state, KNOB_UNAVAILABLE);
	assert_string_equal(p->plan.knobs[0]->reason, reason);
	assert_non_null(strstr(p->plan.knobs[0]->detail, part));
	assert_non_null(p->plan.knobs[0]->remedy);
	assert_null(p->plan.hot_group);
}

static const struct note *find_note(const struct planned *p, const char *reason)
{
	for (size_t i = 0; i < p->plan.n_notes; i++)
		if (!strcmp(p->plan.notes[i]->reason, reason))
			return p->plan.notes[i];
	return NULL;
}

static void v1_sets_are_complete_before_the_root_stops_to_balance(void **state)
{
	static const struct tree_file files[] = { MACHINE("6.18.0"), V1_FILES, { 0 } };
	_cleanup_planned_ struct planned p;

	(void)state;
	plan_on(&p, files, NULL);
	expect_written(&p, "cgroup.run: (none) -> group\n"
	                   "cgroup.run.cpus:  -> 0-7\n"
	                   "cgroup.run.mems:  -> 0-1\n"
	                   "cgroup.run.sched_load_balance: 1 -> 0\n"
	                   "cgroup.help: (none) -> group\n"
	                   "cgroup.help.cpus:  -> 0-1,4-7\n"
	                   "cgroup.help.mems:  -> 0-1\n"
	                   "cgroup.rest: (none) -> group\n"
	                   "cgroup.rest.cpus:  -> 0-1,4-7\n"
	                   "cgroup.rest.mems:  -> 0-1\n"
	                   "cgroup.hot: (none) -> group\n"
	                   "cgroup.hot.cpus:  -> 2-3\n"
	                   "cgroup.hot.mems:  -> 0-1\n"
	                   "cgroup.hot.sched_load_balance: 1 -> 0\n"
	                   "cgroup.evict: in place -> moved\n"
	                   "cgroup.root.sched_load_balance: 1 -> 0\n"
	                   "cgroup.join: /chisol-7-42/hot\n"
	                   "cpus.reset: 0-15\n"
	                   "cpus.affinity: 2-3\n");
	assert_string_equal(p.plan.hot_group, "/sys/fs/cgroup/cpuset/chisol-7-42/hot");
	assert_string_equal(p.plan.help_group, "/sys/fs/cgroup/cpuset/chisol-7-42/help");
	assert_non_null(find_note(&p, REASON_THREADS_STACK));
	assert_null(find_note(&p, REASON_CPU_CONFLICT));
}

static void ask_for_root(struct request *req)
{
	req->cgroup.partition = PARTITION_ROOT;
	req->cgroup.helpers = ANSWER_NO;
	req->cgroup.start = START_RUN;
	xreplace(&req->cgroup.mems_text, "1");
}

static void v1_balances_within_the_workload_and_starts_in_the_run_group_if_asked(void **state)
{
	static const struct tree_file files[] = { MACHINE("6.18.0"), V1_FILES, { 0 } };
	_cleanup_planned_ struct planned p;

	(void)state;
	plan_on(&p, files, ask_for_root);
	expect_written(&p, "cgroup.run: (none) -> group\n"
	                   "cgroup.run.cpus:  -> 0-7\n"
	                   "cgroup.run.mems:  -> 1\n"
	                   "cgroup.run.sched_load_balance: 1 -> 0\n"
	                   "cgroup.rest: (none) -> group\n"
	                   "cgroup.rest.cpus:  -> 0-1,4-7\n"
	                   "cgroup.rest.mems:  -> 1\n"
	                   "cgroup.hot: (none) -> group\n"
	                   "cgroup.hot.cpus:  -> 2-3\n"
	                   "cgroup.hot.mems:  -> 1\n"
	                   "cgroup.evict: in place -> moved\n"
	                   "cgroup.root.sched_load_balance: 1 -> 0\n"
	                   "cgroup.join: /chisol-7-42\n"
	                   "cpus.reset: 0-15\n"
	                   "cpus.affinity: 2-3\n");
	assert_null(find_note(&p, REASON_THREADS_STACK));
}

static void ask_for_member_in_jobs(struct request *req)
{
	req->cgroup.partition = PARTITION_MEMBER;
	xreplace(&req->cgroup.parent, "/sys/fs/cgroup/cpuset/jobs/");
}

static void v1_noprefix_and_a_parent_are_followed(void **state)
{
	static const struct tree_file files[] = {
		MACHINE("6.1.0"),
		{ "proc/self/mountinfo",
		  "9 8 0:30 / /sys/fs/cgroup/cpuset rw - cgroup x rw,cpuset" },
		{ "proc/self/cgroup", "3:cpuset:/" },
		{ V1_ROOT "/cpus", "0-7" },
		{ V1_ROOT "/cgroup.procs", "" },
		{ V1_ROOT "/release_agent", "" },
		{ V1_ROOT "/jobs/cgroup.procs", "" },
		{ V1_ROOT "/jobs/cpus", "0-3" },
		{ V1_ROOT "/jobs/mems", "0" },
		{ 0 },
	};
	_cleanup_planned_ struct planned p;

	(void)state;
	plan_on(&p, files, ask_for_member_in_jobs);
	expect_written(&p, "cgroup.run: (none) -> group\n"
	                   "cgroup.run.cpus:  -> 0-3\n"
	                   "cgroup.run.mems:  -> 0\n"
	                   "cgroup.help: (none) -> group\n"
	                   "cgroup.help.cpus:  -> 0-1\n"
	                   "cgroup.help.mems:  -> 0\n"
	                   "cgroup.hot: (none) -> group\n"
	                   "cgroup.hot.cpus:  -> 2-3\n"
	                   "cgroup.hot.mems:  -> 0\n"
	                   "cgroup.join: /jobs/chisol-7-42/hot\n"
	                   "cpus.reset: 0-15\n"
	                   "cpus.affinity: 2-3\n");
	assert_string_equal(p.plan.knobs[1]->path, "/sys/fs/cgroup/cpuset/jobs/chisol-7-42/cpus");
}

static void v1_names_other_sets_on_the_cpus(void **state)
{
	static const struct tree_file files[] = {
		MACHINE("6.1.0"),
		V1_FILES,
		V1_SET(V1_ROOT "/docker", "0-7", "1"),
		V1_SET(V1_ROOT "/apart", "4-5", "1"),
		V1_SET(V1_ROOT "/quiet", "2-3", "0"),
		{ 0 },
	};
	_cleanup_planned_ struct planned p;
	const struct note *note;

	(void)state;
	plan_on(&p, files, NULL);
	note = find_note(&p, REASON_CPU_CONFLICT);
	assert_non_null(note);
	assert_non_null(strstr(note->text, "/sys/fs/cgroup/cpuset/docker (CPUs 0-7)"));
	assert_null(strstr(note->text, "apart"));
	assert_null(strstr(note->text, "quiet"));
}

static void v1_takes_its_cpus_from_what_older_runs_moved(void **state)
{
	static const struct tree_file files[] = {
		MACHINE("6.1.0"),
		V1_FILES,
		V1_SET(V1_ROOT "/chisol-5-6", "0-7", "0"),
		V1_SET(V1_ROOT "/chisol-5-6/hot", "7", "0"),
		V1_SET(V1_ROOT "/chisol-5-6/rest", "0-6", "1"),
		V1_SET(V1_ROOT "/chisol-5-8", "0-7", "0"),
		V1_SET(V1_ROOT "/chisol-5-8/rest", "4-6", "1"),
		V1_SET(V1_ROOT "/chisol-own", "0-7", "0"),
		V1_SET(V1_ROOT "/chisol-own/rest", "0-7", "0"),
		{ 0 },
	};
	_cleanup_planned_ struct planned p;
	_cleanup_free_ char *text = NULL;

	(void)state;
	plan_on(&p, files, NULL);
	text = written(&p);
	assert_null(find_note(&p, REASON_CPU_CONFLICT));
	assert_non_null(strstr(text, "cgroup.hot.sched_load_balance: 1 -> 0\n"
	                             "cgroup.chisol-5-6/rest.cpus: 0-6 -> 0-1,4-6\n"
	                             "cgroup.evict: in place -> moved\n"));
}

static void v1_says_what_a_set_above_lacks(void **state)
{
	static const struct tree_file files[] = {
		MACHINE("6.1.0"),
		V1_PLACE,
		V1_SET(V1_ROOT, "0-2", "1"),
		{ 0 },
	};
	_cleanup_planned_ struct planned p;

	(void)state;
	plan_on(&p, files, NULL);
	expect_refused(&p, REASON_CPU_CONFLICT, "only 0-2");
}

static void v1_in_a_container_cannot_stop_balancing(void **state)
{
	static const struct tree_file files[] = {
		MACHINE("6.1.0"),
		V1_PLACE,
		V1_SET(V1_ROOT, "0-7", "1"),
		{ 0 },
	};
	_cleanup_planned_ struct planned p;

	(void)state;
	plan_on(&p, files, NULL);
	expect_refused(&p, REASON_NOT_DELEGATED, "the root set, which is not visible");
}

static void v2_makes_a_remote_partition_beside_help(void **state)
{
	static const struct tree_file files[] = { V2_FILES("6.12.0"), { 0 } };
	_cleanup_planned_ struct planned p;

	(void)state;
	plan_on(&p, files, NULL);
	expect_written(&p, "cgroup.root.subtree_control: -cpuset -> +cpuset\n"
	                   "cgroup.run: (none) -> group\n"
	                   "cgroup.run.cpus:  -> 0-7\n"
	                   "cgroup.run.exclusive:  -> 2-3\n"
	                   "cgroup.run.subtree_control: -cpuset -> +cpuset\n"
	                   "cgroup.hot: (none) -> group\n"
	                   "cgroup.hot.type: domain -> threaded\n"
	                   "cgroup.hot.cpus:  -> 2-3\n"
	                   "cgroup.hot.exclusive:  -> 2-3\n"
	                   "cgroup.hot.partition: member -> isolated\n"
	                   "cgroup.help: (none) -> group\n"
	                   "cgroup.help.type: domain -> threaded\n"
	                   "cgroup.help.cpus:  -> 0-1,4-7\n"
	                   "cgroup.join: /chisol-7-42/hot\n"
	                   "cpus.reset: 0-15\n"
	                   "cpus.affinity: 2-3\n");
	assert_string_equal(p.plan.help_group, "/sys/fs/cgroup/chisol-7-42/help");
}

static void v2_before_6_7_makes_the_run_group_the_partition(void **state)
{
	static const struct tree_file files[] = { V2_FILES("6.1.0"), { 0 } };
	_cleanup_planned_ struct planned p;

	(void)state;
	plan_on(&p, files, NULL);
	expect_written(&p, "cgroup.root.subtree_control: -cpuset -> +cpuset\n"
	                   "cgroup.run: (none) -> group\n"
	                   "cgroup.run.cpus:  -> 2-3\n"
	                   "cgroup.run.partition: member -> isolated\n"
	                   "cgroup.join: /chisol-7-42\n"
	                   "cpus.reset: 0-15\n"
	                   "cpus.affinity: 2-3\n");
	assert_null(p.plan.help_group);
}

static void ask_for_helpers(struct request *req)
{
	req->cgroup.helpers = ANSWER_YES;
}

static void v2_before_6_7_takes_a_cpu_along_for_helpers(void **state)
{
	static const struct tree_file files[] = { V2_FILES("6.1.0"), { 0 } };
	_cleanup_planned_ struct planned p;

	(void)state;
	plan_on(&p, files, ask_for_helpers);
	expect_written(&p, "cgroup.root.subtree_control: -cpuset -> +cpuset\n"
	                   "cgroup.run: (none) -> group\n"
	                   "cgroup.run.cpus:  -> 2-3,7\n"
	                   "cgroup.run.partition: member -> root\n"
	                   "cgroup.run.subtree_control: -cpuset -> +cpuset\n"
	                   "cgroup.hot: (none) -> group\n"
	                   "cgroup.hot.type: domain -> threaded\n"
	                   "cgroup.hot.cpus:  -> 2-3\n"
	                   "cgroup.hot.partition: member -> isolated\n"
	                   "cgroup.help: (none) -> group\n"
	                   "cgroup.help.type: domain -> threaded\n"
	                   "cgroup.help.cpus:  -> 7\n"
	                   "cgroup.join: /chisol-7-42/hot\n"
	                   "cpus.reset: 0-15\n"
	                   "cpus.affinity: 2-3\n");
}

static void ask_for_all_but_one_with_helpers(struct request *req)
{
	ask_for_helpers(req);
	assert_int_equal(cpumask_parse_list(&req->cpus.workload, "1-7"), 0);
}

static void v2_before_6_7_leaves_the_last_cpu_to_everybody_else(void **state)
{
	static const struct tree_file files[] = { V2_FILES("6.1.0"), { 0 } };
	_cleanup_planned_ struct planned p;

	(void)state;
	plan_on(&p, files, ask_for_all_but_one_with_helpers);
	expect_refused(&p, REASON_CPU_CONFLICT, "only one is left");
}

static void ask_to_start_in_run(struct request *req)
{
	req->cgroup.start = START_RUN;
}

static void v2_makes_no_partition_for_a_start_in_the_run_group(void **state)
{
	static const struct tree_file files[] = { V2_FILES("6.12.0"), { 0 } };
	_cleanup_planned_ struct planned p;

	(void)state;
	plan_on(&p, files, ask_to_start_in_run);
	expect_written(&p, "cgroup.root.subtree_control: -cpuset -> +cpuset\n"
	                   "cgroup.run: (none) -> group\n"
	                   "cgroup.run.cpus:  -> 0-7\n"
	                   "cgroup.join: /chisol-7-42\n"
	                   "cpus.reset: 0-15\n"
	                   "cpus.affinity: 2-3\n");
	assert_non_null(find_note(&p, REASON_ABSENT));
}

static void ask_for_slice(struct request *req)
{
	xreplace(&req->cgroup.parent, "rt.slice/a");
}

static void v2_claims_the_cpus_all_the_way_down_and_leaves_a_used_controller(void **state)
{
	static const struct tree_file files[] = {
		V2_FILES("6.12.0"),
		{ "sys/fs/cgroup/cgroup.subtree_control", "cpuset" },
		V2_GROUP("sys/fs/cgroup/rt.slice", "0-5", "member"),
		{ "sys/fs/cgroup/rt.slice/cpuset.cpus.exclusive", "5" },
		{ "sys/fs/cgroup/rt.slice/cgroup.subtree_control", "" },
		{ "sys/fs/cgroup/rt.slice/a/cgroup.procs", "" },
		{ "sys/fs/cgroup/rt.slice/a/cgroup.type", "domain" },
		{ "sys/fs/cgroup/rt.slice/a/cgroup.subtree_control", "" },
		{ 0 },
	};
	_cleanup_planned_ struct planned p;
	_cleanup_free_ char *text = NULL;

	(void)state;
	plan_on(&p, files, ask_for_slice);
	text = written(&p);
	assert_ptr_equal(strstr(text, "cgroup.rt.slice.exclusive: 5 -> 2-3,5\n"
	                              "cgroup.rt.slice.subtree_control: -cpuset -> +cpuset\n"
	                              "cgroup.rt.slice/a.exclusive:  -> 2-3\n"
	                              "cgroup.rt.slice/a.subtree_control: -cpuset -> +cpuset\n"
	                              "cgroup.run: (none) -> group\n"),
	                 text);
}

static void a_group_with_processes_is_no_place_for_a_run(void **state)
{
	static const struct tree_file files[] = {
		V2_FILES("6.12.0"),
		{ "sys/fs/cgroup/cgroup.type", "domain" },
		{ "sys/fs/cgroup/cgroup.procs", "1\n77" },
		{ 0 },
	};
	_cleanup_planned_ struct planned p;

	(void)state;
	plan_on(&p, files, NULL);
	expect_refused(&p, REASON_NOT_DELEGATED, "processes of its own");
}

#define USER    "sys/fs/cgroup/user.slice"
#define SESSION USER "/user@7.service"
#define DELEGATED(dir, controllers)                                                        \
	{ dir "/cgroup.controllers", controllers }, { dir "/cgroup.subtree_control", "" }, \
		{ dir "/cgroup.procs", "" }, { dir "/cgroup.type", "domain" },             \
	{                                                                                  \
		dir "/cpuset.cpus.effective", "0-7"                                        \
	}

/* As a user's session of systemd has it: all above user@7.service is root's. */
static void plan_for_user(struct planned *p, const char *controllers,
                          void (*change)(struct request *req))
{
	static const char *const roots[] = { "sys/fs/cgroup", USER };
	const struct tree_file files[] = {
		MACHINE("6.12.0"),
		{ "proc/self/mountinfo", V2_MOUNT("/sys/fs/cgroup") },
		{ "proc/self/cgroup", "0::/user.slice/user@7.service/app.slice/x.scope" },
		V2_ROOT("sys/fs/cgroup", "cpuset", "cpuset"),
		DELEGATED(USER, "cpuset"),
		DELEGATED(SESSION, controllers),
		DELEGATED(SESSION "/app.slice", ""),
		DELEGATED(SESSION "/app.slice/x.scope", ""),
		{ USER "/cgroup.subtree_control", "cpuset" },
		{ SESSION "/app.slice/x.scope/cgroup.procs", "77" },
		{ 0 },
	};
	struct tree *tree = tree_open(files);

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		_cleanup_free_ char *procs = xasprintf("%s/%s/cgroup.procs", tree->dir, roots[i]);

		assert_int_equal(chmod(procs, 0444), 0);
	}
	plan_in(p, tree, change);
}

static void ask_for_isolated(struct request *req)
{
	req->cgroup.partition = PARTITION_ISOLATED;
}

static void the_run_goes_into_what_of_the_tree_is_delegated(void **state)
{
	_cleanup_planned_ struct planned p, q, r;
	_cleanup_free_ char *text = NULL, *partition = NULL;
	const struct note *note;

	(void)state;
	plan_for_user(&p, "cpuset", NULL);
	text = written(&p);
	assert_int_equal(p.rc, 0);
	assert_non_null(strstr(text, "cgroup.join: /user.slice/user@7.service/chisol-7-42/hot\n"));
	assert_null(strstr(text, "partition"));
	assert_null(strstr(text, "exclusive"));
	note = find_note(&p, REASON_NOT_DELEGATED);
	assert_non_null(note);
	assert_non_null(strstr(note->text, "/" SESSION ", which is delegated to chisol"));

	plan_for_user(&q, "cpuset", ask_for_isolated);
	partition = written(&q);
	assert_non_null(strstr(partition, "cgroup.hot.partition: member -> isolated\n"));

	plan_for_user(&r, "cpu memory", NULL);
	expect_refused(&r, REASON_NO_CONTROLLER, "without the cpuset controller");
}

static void v2_names_siblings_that_claim_the_cpus(void **state)
{
	static const struct tree_file old[] = { V2_FILES("6.1.0"),
		                                V2_GROUP("sys/fs/cgroup/a", "3-4", "member"),
		                                { 0 } };
	static const struct tree_file new[] = { V2_FILES("6.12.0"),
		                                V2_GROUP("sys/fs/cgroup/a", "3-4", "member"),
		                                V2_GROUP("sys/fs/cgroup/a/b", "3", "root"),
		                                V2_GROUP("sys/fs/cgroup/c", "2", "member"),
		                                { 0 } };
	_cleanup_planned_ struct planned p, q;
	const struct note *note;

	(void)state;
	plan_on(&p, old, NULL);
	note = find_note(&p, REASON_CPU_CONFLICT);
	assert_non_null(note);
	assert_non_null(strstr(note->text, "/sys/fs/cgroup/a (CPUs 3-4)"));
	plan_on(&q, new, NULL);
	note = find_note(&q, REASON_CPU_CONFLICT);
	assert_non_null(note);
	assert_null(strstr(note->text, "CPUs 3-4"));
	assert_non_null(strstr(note->text, "/sys/fs/cgroup/a/b (CPUs 3)"));
	assert_non_null(strstr(note->text, "/sys/fs/cgroup/c (CPUs 2)"));
}

static void cpus_of_another_partition_are_refused_by_name(void **state)
{
	static const struct tree_file files[] = { V2_FILES("6.1.0"),
		                                  { "sys/fs/cgroup/cpuset.cpus.effective",
		                                    "0-2,4-7" },
		                                  V2_GROUP("sys/fs/cgroup/other", "3", "isolated"),
		                                  { 0 } };
	_cleanup_planned_ struct planned p;

	(void)state;
	plan_on(&p, files, NULL);
	expect_refused(&p, REASON_CPU_CONFLICT, "claimed by /sys/fs/cgroup/other (CPUs 3)");
}

static void cpus_isolated_since_boot_are_only_pinned(void **state)
{
	static const struct tree_file files[] = { V2_FILES("6.12.0"),
		                                  { "sys/devices/system/cpu/isolated", "2-3" },
		                                  { 0 } };
	_cleanup_planned_ struct planned p, q;
	_cleanup_free_ char *text = NULL;

	(void)state;
	plan_on(&p, files, NULL);
	expect_written(&p, "cpus.reset: 0-15\ncpus.affinity: 2-3\n");
	assert_non_null(find_note(&p, REASON_BOOT_ISOLATED));
	plan_on(&q, files, ask_for_helpers);
	text = written(&q);
	assert_non_null(strstr(text, "cgroup.help.cpus:  -> 0-1,4-7"));
	assert_null(strstr(text, "partition"));
}

static void no_partition_lets_others_on_the_cpus_that_are_isolated_since_boot(void **state)
{
	static const struct tree_file files[] = { V2_FILES("6.12.0"),
		                                  { "sys/devices/system/cpu/isolated", "5" },
		                                  { 0 } };
	_cleanup_planned_ struct planned p, q;
	_cleanup_free_ char *without = NULL, *with = NULL;

	(void)state;
	plan_on(&p, files, NULL);
	without = written(&p);
	assert_null(strstr(without, "partition"));
	assert_non_null(find_note(&p, REASON_KERNEL_DEFECT));
	plan_on(&q, files, ask_for_isolated);
	with = written(&q);
	assert_non_null(strstr(with, "partition"));
}

static void a_task_that_loses_all_its_cpus_is_kept_off_those_that_are_isolated_since_boot(
	void **state)
{
	static const struct tree_file files[] = {
		V2_FILES("6.12.0"),
		{ "sys/devices/system/cpu/isolated", "5" },
		{ "sys/fs/cgroup/cgroup.threads", "70\n71" },
		{ "proc/70/stat", "70 (pinned) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 700 0 0" },
		{ "proc/70/status", "Name:\tpinned\nCpus_allowed_list:\t2" },
		{ "proc/71/stat", "71 (both) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 710 0 0" },
		{ "proc/71/status", "Name:\tboth\nCpus_allowed_list:\t1-2" },
		{ 0 }
	};
	_cleanup_planned_ struct planned p;
	_cleanup_free_ char *text = NULL;

	(void)state;
	plan_on(&p, files, ask_for_isolated);
	text = written(&p);
	assert_non_null(strstr(text, "cgroup.mask.70: 2 -> 0-1,4,6-7\n"));
	assert_non_null(strstr(text, "cgroup.mask.71: 1-2 -> 1-2|1|"));
}

/* Linux 6.12 gives such CPUs back as not isolated. */
static void cpus_of_both_kinds_are_refused(void **state)
{
	static const struct tree_file files[] = { V2_FILES("6.12.0"),
		                                  { "sys/devices/system/cpu/isolated", "3" },
		                                  { 0 } };
	_cleanup_planned_ struct planned p;

	(void)state;
	plan_on(&p, files, ask_for_isolated);
	expect_refused(&p, REASON_KERNEL_DEFECT, "some of the workload's CPUs");
}

static void ask_for_the_last(struct request *req)
{
	assert_int_equal(cpumask_parse_list(&req->cpus.workload, "0-1,4-7"), 0);
}

static void the_last_housekeeping_cpu_is_never_taken(void **state)
{
	static const struct tree_file boot[] = { V2_FILES("6.1.0"),
		                                 { "sys/devices/system/cpu/isolated", "2-3" },
		                                 { 0 } };
	/* Housekeeping as far as isolcpus= goes, and all of it in other partitions. */
	static const struct tree_file taken[] = { V2_FILES("6.1.0"),
		                                  { "sys/devices/system/cpu/isolated", "2" },
		                                  { "sys/fs/cgroup/cpuset.cpus.effective",
		                                    "0-2,4-7" },
		                                  { 0 } };
	_cleanup_planned_ struct planned p, q;

	(void)state;
	plan_on(&p, boot, ask_for_the_last);
	assert_int_equal(p.rc, -EINVAL);
	assert_int_equal(p.plan.n_knobs, 0);
	plan_on(&q, taken, ask_for_the_last);
	expect_refused(&q, REASON_CPU_CONFLICT, "not enough for the workload and a housekeeping");
}

static void a_partition_is_not_written_once_no_cpu_is_left(void **state)
{
	static const struct tree_file files[] = { V2_FILES("6.1.0"),
		                                  { "sys/devices/system/cpu/isolated", "2-3" },
		                                  V2_GROUP("sys/fs/cgroup/chisol-1-1", "0-1,4-7",
		                                           "member"),
		                                  { 0 } };
	_cleanup_tree_ struct tree *tree = tree_open(files);
	_cleanup_error_ struct error err = ERROR_INIT;
	const char *path = "/sys/fs/cgroup/chisol-1-1/cpuset.cpus.partition";

	(void)state;
	assert_int_equal(knob_cpuset_partition.write(&tree->sys, path, "isolated", &err), -EBUSY);
	assert_non_null(strstr(err.text, "the last that are not isolated"));
	tree_expect(tree, path, "member\n");
	tree_put(tree, "/sys/fs/cgroup/chisol-1-1/cpuset.cpus", "4-7\n");
	assert_int_equal(knob_cpuset_partition.write(&tree->sys, path, "isolated", &err), 0);
	tree_expect(tree, path, "isolated\n");
}

static void without_cpusets_the_plan_says_why(void **state)
{
	static const struct tree_file none[] = { MACHINE("6.1.0"),
		                                 { "proc/self/mountinfo",
		                                   "22 1 0:20 / / rw - ext4 /dev/vda rw" },
		                                 { 0 } };
	static const struct tree_file read_only[] = {
		MACHINE("6.1.0"),
		{ "proc/self/mountinfo", V1_MOUNT("ro") },
		{ "proc/self/cgroup", "3:cpuset:/" },
		V1_SET(V1_ROOT, "0-7", "1"),
		{ 0 },
	};
	_cleanup_planned_ struct planned p, q;

	(void)state;
	plan_on(&p, none, NULL);
	expect_refused(&p, REASON_NO_CONTROLLER, "no cgroup file system is mounted");
	plan_on(&q, read_only, NULL);
	expect_refused(&q, REASON_READ_ONLY, "read-only");
}

static void ask_for_nowhere(struct request *req)
{
	xreplace(&req->cgroup.parent, "nowhere");
}

static void ask_for_up(struct request *req)
{
	xreplace(&req->cgroup.parent, "a/../..");
}

static void a_parent_that_is_not_there_is_an_error(void **state)
{
	static const struct tree_file files[] = { V2_FILES("6.12.0"), { 0 } };
	_cleanup_planned_ struct planned p, q;

	(void)state;
	plan_on(&p, files, ask_for_nowhere);
	assert_int_equal(p.rc, -ENOENT);
	assert_non_null(strstr(p.err.text, "nowhere"));
	plan_on(&q, files, ask_for_up);
	assert_int_equal(q.rc, -EINVAL);
}

/* Knobs */

static void the_kernels_reason_is_quoted_with_a_remedy(void **state)
{
	static const char *const texts[] = {
		"isolated invalid (Parent is not a partition root)",
		"isolated invalid (Cpu list in cpuset.cpus not exclusive)",
		"isolated invalid (cpuset.cpus and cpuset.cpus.exclusive are empty)",
		"isolated invalid (Parent unable to distribute cpu downstream)",
		"isolated invalid (No cpu available due to hotplug)",
		"isolated invalid (partition config conflicts with housekeeping setup)",
		"isolated invalid (Invalid cpu list in cpuset.cpus.exclusive)",
		"isolated invalid",
	};
	static const struct tree_file files[] = { V2_FILES("6.12.0"),
		                                  V2_GROUP("sys/fs/cgroup/chisol-1-1", "2-3",
		                                           "member"),
		                                  V2_GROUP("sys/fs/cgroup/rival", "2", "root"),
		                                  { 0 } };
	_cleanup_tree_ struct tree *tree = tree_open(files);
	static char path[] = "/sys/fs/cgroup/chisol-1-1/cpuset.cpus.partition";
	static char wanted[] = "isolated";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_error_ struct error none = ERROR_INIT;
		struct knob knob = { .type = &knob_cpuset_partition,
			             .path = path,
			             .wanted = wanted };

		knob.state = KNOB_REFUSED;
		knob.granted = xstrdup(texts[i]);
		knob.type->judge(&tree->sys, &knob, &none);
		assert_int_equal(knob.state, KNOB_REFUSED);
		assert_string_equal(knob.reason, REASON_PARTITION_INVALID);
		assert_non_null(strstr(knob.detail, texts[i]));
		assert_non_null(strstr(knob.detail, "/sys/fs/cgroup/rival (CPUs 2)"));
		assert_int_equal(knob.remedy != NULL, strchr(texts[i], '(') != NULL);
		free(knob.detail);
		free(knob.remedy);
		free(knob.granted);
	}
}

static void a_controller_in_use_by_others_reads_as_such(void **state)
{
	static const struct tree_file files[] = {
		V2_FILES("6.12.0"),
		{ "sys/fs/cgroup/cgroup.subtree_control", "cpu cpuset" },
		V2_GROUP("sys/fs/cgroup/idle", "", "member"),
		V2_GROUP("sys/fs/cgroup/chisol-9-9", "2", "root"),
		{ 0 },
	};
	_cleanup_tree_ struct tree *tree = tree_open(files);
	const char *path = "/sys/fs/cgroup/cgroup.subtree_control";
	_cleanup_free_ char *idle = NULL, *used = NULL;

	(void)state;
	assert_int_equal(knob_cgroup_controller.read(&tree->sys, path, &idle, NULL), 0);
	assert_string_equal(idle, CONTROLLER_ON);
	tree_put(tree, "/sys/fs/cgroup/idle/cpuset.cpus", "1\n");
	assert_int_equal(knob_cgroup_controller.read(&tree->sys, path, &used, NULL), 0);
	assert_true(knob_cgroup_controller.serves(used, idle)); /* no drift for the run */
	assert_true(knob_same(&knob_cgroup_type, "domain invalid", "domain"));
	assert_false(knob_same(&knob_cgroup_type, "domain invalid", "threaded"));
	assert_string_equal(used, "+cpuset, used by /sys/fs/cgroup/idle");
}

static void a_group_that_is_only_called_like_a_run_is_somebody_elses(void **state)
{
	static const char *const names[] = { "chisol-app.service", "chisol-",     "chisol-9",
		                             "chisol-9-",          "chisol-9-9x", "chisol-x-9" };
	const char *path = "/sys/fs/cgroup/cgroup.subtree_control";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		static const struct tree_file files[] = {
			V2_FILES("6.12.0"),
			{ "sys/fs/cgroup/cgroup.subtree_control", "cpuset" },
			{ 0 },
		};
		_cleanup_tree_ struct tree *tree = tree_open(files);
		_cleanup_free_ char *group = xasprintf("/sys/fs/cgroup/%s", names[i]), *used = NULL,
				    *procs = xasprintf("%s/cgroup.procs", group),
				    *cpus = xasprintf("%s/cpuset.cpus", group);

		tree_put(tree, procs, "");
		tree_put(tree, cpus, "1\n");
		assert_int_equal(knob_cgroup_controller.read(&tree->sys, path, &used, NULL), 0);
		assert_non_null(strstr(used, names[i]));
		assert_int_equal(knob_cgroup_dir.write(&tree->sys, group, NULL, NULL), -EINVAL);
	}
}

static void only_groups_of_chisol_are_removed(void **state)
{
	static const struct tree_file files[] = { V2_FILES("6.12.0"),
		                                  V2_GROUP("sys/fs/cgroup/theirs", "", "member"),
		                                  { 0 } };
	_cleanup_tree_ struct tree *tree = tree_open(files);

	(void)state;
	assert_int_equal(knob_cgroup_dir.write(&tree->sys, "/sys/fs/cgroup/theirs", NULL, NULL),
	                 -EINVAL);
	tree_expect(tree, "/sys/fs/cgroup/theirs/cpuset.cpus.partition", "member\n");
}

/* For the writes of a test: every one fails with EFBIG (setrlimit(2)). */
static void let_writes_fail(bool fail)
{
	static struct rlimit before;
	struct rlimit none;

	if (!fail) {
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
		return;
	}
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = (struct rlimit){ 0, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
}

#define RUN_GROUP "sys/fs/cgroup/chisol-1-1"

static void expect_not_given_up(const struct tree_file *files, const char *path, const char *value,
                                const struct knob_type *type, const char *file)
{
	_cleanup_tree_ struct tree *tree = tree_open(files);
	_cleanup_error_ struct error err = ERROR_INIT;
	int rc;

	let_writes_fail(true);
	rc = type->write(&tree->sys, path, value, &err);
	let_writes_fail(false);
	assert_int_equal(rc, -EFBIG);
	assert_non_null(strstr(err.text, file));
	tree_expect(tree, "/" RUN_GROUP "/cpuset.cpus", "2-3\n");
}

static void what_cannot_be_given_up_is_told_and_keeps_the_group(void **state)
{
	static const struct tree_file own[] = { V2_FILES("6.12.0"),
		                                V2_GROUP(RUN_GROUP, "2-3", "isolated"),
		                                { 0 } };
	static const struct tree_file below[] = { V2_FILES("6.12.0"),
		                                  V2_GROUP(RUN_GROUP, "2-3", "member"),
		                                  V2_GROUP(RUN_GROUP "/mine", "3", "isolated"),
		                                  { 0 } };
	static const struct tree_file exclusive[] = { V2_FILES("6.12.0"),
		                                      V2_GROUP(RUN_GROUP, "2-3", "member"),
		                                      { RUN_GROUP "/cpuset.cpus.exclusive", "2-3" },
		                                      { 0 } };

	(void)state;
	expect_not_given_up(own, "/" RUN_GROUP, NULL, &knob_cgroup_dir,
	                    "/" RUN_GROUP "/cpuset.cpus.partition");
	expect_not_given_up(below, "/" RUN_GROUP, NULL, &knob_cgroup_dir,
	                    "/" RUN_GROUP "/mine/cpuset.cpus.partition");
	expect_not_given_up(exclusive, "/" RUN_GROUP, NULL, &knob_cgroup_dir,
	                    "/" RUN_GROUP "/cpuset.cpus.exclusive");
	expect_not_given_up(own, "/" RUN_GROUP "/cpuset.cpus", "", &knob_cpuset_cpus,
	                    "/" RUN_GROUP "/cpuset.cpus.partition");
}

static void a_mask_that_the_kernel_made_is_known_as_such(void **state)
{
	(void)state;
	assert_true(knob_same(&knob_task_mask, "0-1", "2|0-1|0-3"));
	assert_true(knob_same(&knob_task_mask, "2|0-1|0-3", "0,1,2,3"));
	assert_true(knob_same(&knob_task_mask, "2", "2|0-1|0-3"));
	assert_false(knob_same(&knob_task_mask, "1", "2|0-1|0-3"));
	assert_false(knob_same(&knob_task_mask, "2", "0-1"));
}

#define STAT(pid, flags)                                                                         \
	pid " (a) b) S 1 1 1 0 -1 " flags " 0 0 0 0 0 0 0 0 20 0 1 0 555 0 0 0 0 0 0 0 0 0 0 0 " \
	    "0 0 0 0 17 0 0 0 0 0 0"

static void masks_that_get_lost_are_recorded_for_tasks_that_chose_theirs(void **state)
{
	static const struct tree_file files[] = {
		V2_FILES("6.1.0"),
		{ "sys/fs/cgroup/cgroup.threads", "10\n11\n12\n13\n99" },
		{ "proc/10/stat", STAT("10", "4194304") },
		{ "proc/10/status", "Name:\ta\nCpus_allowed_list:\t2" },
		{ "proc/11/stat", STAT("11", "4194304") },
		{ "proc/11/status", "Name:\ta\nCpus_allowed_list:\t0-15" },
		{ "proc/12/stat", STAT("12", "69238848") }, /* a bound kernel thread */
		{ "proc/12/status", "Name:\ta\nCpus_allowed_list:\t3" },
		{ "proc/13/stat", STAT("13", "2129984") }, /* a kernel thread that is not */
		{ "proc/13/status", "Name:\ta\nCpus_allowed_list:\t0-2" },
		{ 0 },
	};
	_cleanup_planned_ struct planned p;
	_cleanup_free_ char *text = NULL;

	(void)state;
	plan_on(&p, files, NULL);
	text = written(&p);
	assert_ptr_equal(strstr(text, "cgroup.mask.10: 2 -> 2|0-1,4-7|0-7\n"
	                              "cgroup.mask.13: 0-2 -> 0-2|0-1|0-1,4-7|0-7\n"
	                              "cgroup.root.subtree_control"),
	                 text);
	assert_string_equal(p.plan.knobs[0]->path, "/proc/10/555");
}

static void ask_for_member(struct request *req)
{
	req->cgroup.partition = PARTITION_MEMBER;
}

/* How many masks are recorded for a run without a partition, and is that told? */
static void expect_masks_of_member(const struct tree_file *files, size_t n)
{
	_cleanup_planned_ struct planned p;
	_cleanup_free_ char *text = NULL;

	plan_on(&p, files, ask_for_member);
	text = written(&p);
	assert_int_equal(!!strstr(text, "cgroup.mask.10: 2 -> 2|2|0-7|0-7\n"), n);
	assert_int_equal(!strncmp(text, "cgroup.mask.", strlen("cgroup.mask.")), n);
	assert_int_equal(!!find_note(&p, REASON_KERNEL_DEFECT), n);
}

static void before_6_2_masks_get_lost_with_the_controller_too(void **state)
{
#define PINNED_IN_ANOTHER_GROUP                                                               \
	{ "sys/fs/cgroup/a/cgroup.threads", "10" }, { "sys/fs/cgroup/a/cgroup.procs", "10" }, \
		{ "sys/fs/cgroup/a/cgroup.subtree_control", "" },                             \
		{ "proc/10/stat", STAT("10", "4194304") },                                    \
	{                                                                                     \
		"proc/10/status", "Name:\ta\nCpus_allowed_list:\t2"                           \
	}
	static const struct tree_file old[] = { V2_FILES("6.1.0"), PINNED_IN_ANOTHER_GROUP, { 0 } },
				      since[] = { V2_FILES("6.2.0"),
		                                  PINNED_IN_ANOTHER_GROUP,
		                                  { 0 } },
				      handed_down[] = { V2_FILES("6.1.0"),
		                                        PINNED_IN_ANOTHER_GROUP,
		                                        { "sys/fs/cgroup/cgroup.subtree_control",
		                                          "cpuset" },
		                                        { 0 } };

	(void)state;
	expect_masks_of_member(old, 1);
	expect_masks_of_member(since, 0);
	expect_masks_of_member(handed_down, 0);
}

static void kernel_threads_have_their_masks_back_on_a_machine_with_nohz_full(void **state)
{
	struct machine machine = { .kernel_major = 6, .kernel_minor = 12 };

	(void)state;
	assert_false(cgroup_masks_get_lost(&machine));
	cpumask_set(&machine.nohz_full, 3);
	assert_true(cgroup_masks_get_lost(&machine));
	cpumask_free(&machine.nohz_full);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_world_is_recognized),
		cmocka_unit_test(v1_sets_are_complete_before_the_root_stops_to_balance),
		cmocka_unit_test(
			v1_balances_within_the_workload_and_starts_in_the_run_group_if_asked),
		cmocka_unit_test(v1_noprefix_and_a_parent_are_followed),
		cmocka_unit_test(v1_names_other_sets_on_the_cpus),
		cmocka_unit_test(v1_takes_its_cpus_from_what_older_runs_moved),
		cmocka_unit_test(v1_says_what_a_set_above_lacks),
		cmocka_unit_test(v1_in_a_container_cannot_stop_balancing),
		cmocka_unit_test(v2_makes_a_remote_partition_beside_help),
		cmocka_unit_test(v2_before_6_7_makes_the_run_group_the_partition),
		cmocka_unit_test(v2_before_6_7_takes_a_cpu_along_for_helpers),
		cmocka_unit_test(v2_before_6_7_leaves_the_last_cpu_to_everybody_else),
		cmocka_unit_test(v2_makes_no_partition_for_a_start_in_the_run_group),
		cmocka_unit_test(v2_claims_the_cpus_all_the_way_down_and_leaves_a_used_controller),
		cmocka_unit_test(a_group_with_processes_is_no_place_for_a_run),
		cmocka_unit_test(the_run_goes_into_what_of_the_tree_is_delegated),
		cmocka_unit_test(v2_names_siblings_that_claim_the_cpus),
		cmocka_unit_test(cpus_of_another_partition_are_refused_by_name),
		cmocka_unit_test(cpus_isolated_since_boot_are_only_pinned),
		cmocka_unit_test(no_partition_lets_others_on_the_cpus_that_are_isolated_since_boot),
		cmocka_unit_test(
			a_task_that_loses_all_its_cpus_is_kept_off_those_that_are_isolated_since_boot),
		cmocka_unit_test(cpus_of_both_kinds_are_refused),
		cmocka_unit_test(the_last_housekeeping_cpu_is_never_taken),
		cmocka_unit_test(a_partition_is_not_written_once_no_cpu_is_left),
		cmocka_unit_test(without_cpusets_the_plan_says_why),
		cmocka_unit_test(a_parent_that_is_not_there_is_an_error),
		cmocka_unit_test(the_kernels_reason_is_quoted_with_a_remedy),
		cmocka_unit_test(a_controller_in_use_by_others_reads_as_such),
		cmocka_unit_test(a_group_that_is_only_called_like_a_run_is_somebody_elses),
		cmocka_unit_test(only_groups_of_chisol_are_removed),
		cmocka_unit_test(what_cannot_be_given_up_is_told_and_keeps_the_group),
		cmocka_unit_test(a_mask_that_the_kernel_made_is_known_as_such),
		cmocka_unit_test(masks_that_get_lost_are_recorded_for_tasks_that_chose_theirs),
		cmocka_unit_test(before_6_2_masks_get_lost_with_the_controller_too),
		cmocka_unit_test(kernel_threads_have_their_masks_back_on_a_machine_with_nohz_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
