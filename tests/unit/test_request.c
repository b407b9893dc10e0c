/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "../../chisol/options.h"
#include "../../isolcore/profile.h"
#include "tree.h"

/* Eight CPUs, 4-5 of them isolated at boot. */
static const struct tree_file tree[] = {
	{ "sys/devices/system/cpu/online", "0-7" },
	{ "sys/devices/system/cpu/isolated", "4-5" },
	{ 0 },
};

/* The same, with nothing isolated. */
static const struct tree_file plain_tree[] = {
	{ "sys/devices/system/cpu/online", "0-7" },
	{ 0 },
};

static int setup(void **state)
{
	*state = tree_open(tree);
	return 0;
}

/* What a profile and a command line make of a request. */
static int resolve(struct options *o, const struct system *sys, const char *profile,
                   const char *const *args, struct error *err)
{
	static char name[] = "chisol", option[] = "-p", command[] = "true";
	char path[] = "/tmp/chisol-unit-XXXXXX.conf";
	char *argv[16] = { name };
	int argc = 1, rc;

	if (profile) {
		int fd = mkstemps(path, 5);

		assert_true(fd >= 0);
		assert_int_equal(write(fd, profile, strlen(profile)), strlen(profile));
		close(fd);
		argv[argc++] = option;
		argv[argc++] = path;
	}
	for (; args && *args; args++)
		argv[argc++] = (char *)*args;
	argv[argc++] = command;
	argv[argc] = NULL;
	rc = options_parse(o, argc, argv, NULL, err);
	o->req.argv = NULL; /* it is gone with this function */
	if (profile)
		unlink(path);
	return rc ? rc : request_resolve(&o->req, sys, NULL, err);
}

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

#define IRQ            offsetof(struct request, irq.policy)
#define TASK_ISOLATION offsetof(struct request, task_isolation.policy)
#define CPUS           offsetof(struct request, cpus.policy)
#define USER           offsetof(struct request, user.policy)

static void policies_follow_who_asked(void **state)
{
	static const struct {
		const char *profile;
		const char *args[8];
		size_t section;
		enum policy policy;
	} cases[] = {
		/* nobody asks */
		{ NULL, { NULL }, IRQ, POLICY_OFF },
		{ "[profile]\npolicy=require\n", { NULL }, IRQ, POLICY_OFF },
		{ "[irq]\n", { NULL }, IRQ, POLICY_OFF },
		{ "[vmstat]\nflush=yes\n", { NULL }, IRQ, POLICY_OFF },
		/* a profile asks */
		{ "[irq]\nthreads=yes\n", { NULL }, IRQ, POLICY_TRY },
		{ "[irq]\npolicy=try\n", { NULL }, IRQ, POLICY_TRY },
		{ "[irq]\nthreads=yes\n[profile]\npolicy=require\n",
		  { NULL },
		  IRQ,
		  POLICY_REQUIRE },
		{ "[irq]\nthreads=yes\npolicy=try\n[profile]\npolicy=require\n",
		  { NULL },
		  IRQ,
		  POLICY_TRY },
		{ "[irq]\nthreads=yes\npolicy=off\n", { NULL }, IRQ, POLICY_OFF },
		/* --set is as a profile */
		{ NULL, { "-c", "1", "-s", "irq.threads=yes" }, IRQ, POLICY_TRY },
		{ "[irq]\npolicy=require\n", { "-s", "irq.policy=off" }, IRQ, POLICY_OFF },
		/* an option of its own requires */
		{ NULL, { "-c", "1" }, CPUS, POLICY_REQUIRE },
		{ NULL, { "-q", "vmstat_sync" }, TASK_ISOLATION, POLICY_REQUIRE },
		{ NULL, { "-I", "conf" }, TASK_ISOLATION, POLICY_REQUIRE },
		{ NULL, { "-u", "nobody" }, USER, POLICY_REQUIRE },
		{ "[cpus]\npolicy=try\n", { "-c", "1" }, CPUS, POLICY_REQUIRE },
		{ "[cpus]\npolicy=off\n", { "-c", "1" }, CPUS, POLICY_REQUIRE },
		/* unless --set is more explicit */
		{ NULL, { "-c", "1", "-s", "cpus.policy=try" }, CPUS, POLICY_TRY },
		/* privileges are never merely tried */
		{ "[user]\nuser=nobody\n", { NULL }, USER, POLICY_REQUIRE },
		{ "[user]\nuser=nobody\n[profile]\npolicy=try\n", { NULL }, USER, POLICY_REQUIRE },
		{ "[user]\nuser=nobody\npolicy=off\n", { NULL }, USER, POLICY_OFF },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_options_ struct options o;
		_cleanup_error_ struct error err = ERROR_INIT;
		enum policy policy;

		if (resolve(&o, tree_system(*state), cases[i].profile, cases[i].args, &err))
			fail_msg("case %zu: %s", i, err.text);
		policy = *(enum policy *)((char *)&o.req + cases[i].section);
		if (policy != cases[i].policy)
			fail_msg("case %zu: policy is %d", i, policy);
	}
}

static void a_stand_in_counts_unless_the_kernel_is_required_in_so_many_words(void **state)
{
	static const struct {
		const char *profile;
		const char *args[8];
		enum accept accept;
	} cases[] = {
		{ NULL, { "-q", "vmstat_sync" }, ACCEPT_STAND_IN },
		{ "[task_isolation]\nquiesce=vmstat_sync\n", { NULL }, ACCEPT_STAND_IN },
		{ "[task_isolation]\nquiesce=vmstat_sync\npolicy=try\n",
		  { NULL },
		  ACCEPT_STAND_IN },
		{ "[task_isolation]\nquiesce=vmstat_sync\npolicy=require\n",
		  { NULL },
		  ACCEPT_KERNEL },
		{ NULL,
		  { "-q", "vmstat_sync", "-s", "task_isolation.policy=require" },
		  ACCEPT_KERNEL },
		{ "[task_isolation]\npolicy=require\naccept=placement\nquiesce=vmstat_sync\n",
		  { NULL },
		  ACCEPT_PLACEMENT },
		{ "[profile]\npolicy=require\n[task_isolation]\nquiesce=vmstat_sync\n",
		  { NULL },
		  ACCEPT_STAND_IN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_options_ struct options o;

		assert_int_equal(
			resolve(&o, tree_system(*state), cases[i].profile, cases[i].args, NULL), 0);
		if (o.req.task_isolation.accept != cases[i].accept)
			fail_msg("case %zu: accepts %d", i, o.req.task_isolation.accept);
	}
}

static void cpus_are_divided(void **state)
{
	static const struct {
		const char *profile;
		const char *args[8];
		const char *workload, *housekeeping;
		bool asked;
	} cases[] = {
		{ NULL, { NULL }, "4-5", "0-3,6-7", false },
		{ NULL, { "-c", "2" }, "2", "0-1,3,6-7", true },
		{ "[cpus]\nworkload=isolated\n", { NULL }, "4-5", "0-3,6-7", true },
		{ "[cpus]\nworkload=6\n", { "-c", "7" }, "7", "0-3,6", true },
		{ "[cpus]\nhousekeeping=0-1,7\n", { "-c", "7" }, "7", "0-1", true },
		{ "[cpus]\nhousekeeping=all\n", { NULL }, "4-5", "0-3,6-7", false },
		{ NULL, { "-c", "all" }, "0-7", "", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_options_ struct options o;
		_cleanup_error_ struct error err = ERROR_INIT;
		_cleanup_free_ char *workload = NULL, *housekeeping = NULL;

		if (resolve(&o, tree_system(*state), cases[i].profile, cases[i].args, &err))
			fail_msg("case %zu: %s", i, err.text);
		workload = cpumask_list(&o.req.cpus.workload);
		housekeeping = cpumask_list(&o.req.cpus.housekeeping);
		assert_string_equal(workload, cases[i].workload);
		assert_string_equal(housekeeping, cases[i].housekeeping);
		assert_int_equal(o.req.cpus.asked, cases[i].asked);
	}
}

static void another_runs_cpus_are_no_housekeeping(void **state)
{
	_cleanup_cpumask_ struct cpumask taken = CPUMASK_INIT;
	_cleanup_request_ struct request req;
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_free_ char *list = NULL;

	request_init(&req);
	cpumask_set_range(&taken, 0, 3);
	assert_int_equal(profile_set(&req, "cpus.workload=7", NULL), 0);
	assert_int_equal(profile_set(&req, "irq.threads=yes", NULL), 0);
	assert_int_equal(request_resolve(&req, tree_system(*state), &taken, NULL), 0);
	list = cpumask_list(&req.cpus.housekeeping);
	assert_string_equal(list, "6");
	cpumask_set(&taken, 6);
	assert_int_equal(request_resolve(&req, tree_system(*state), &taken, &err), -EINVAL);
	assert_non_null(strstr(err.text, "leave none"));
}

static void resolving_twice_changes_nothing(void **state)
{
	_cleanup_options_ struct options o;

	assert_int_equal(resolve(&o, tree_system(*state),
	                         "[irq]\nthreads=yes\n[task_isolation]\npolicy=require\n",
	                         ARGS("-c", "1", "-q", "vmstat_sync"), NULL),
	                 0);
	assert_int_equal(request_resolve(&o.req, tree_system(*state), NULL, NULL), 0);
	assert_int_equal(o.req.irq.policy, POLICY_TRY);
	assert_int_equal(o.req.task_isolation.accept, ACCEPT_KERNEL);
	assert_true(cpumask_test(&o.req.cpus.workload, 1));
	assert_int_equal(cpumask_weight(&o.req.cpus.workload), 1);
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const struct {
		const char *profile;
		const char *args[8];
		int code;
		const char *says;
	} cases[] = {
		{ NULL, { "-a" }, EINVAL, "-a: there is nothing to activate" },
		{ NULL, { "-a", "-I", "active" }, EINVAL, "add -q vmstat_sync" },
		{ "[task_isolation]\nactivate=yes\n",
		  { NULL },
		  EINVAL,
		  ".conf:2: there is nothing" },
		{ "[task_isolation]\noneshot=yes\n",
		  { "-q", "vmstat_sync", "-a" },
		  EINVAL,
		  "-a: activating does not go with task_isolation.oneshot (/tmp/" },
		{ "[user]\nuser=nobody\npolicy=try\n",
		  { NULL },
		  EINVAL,
		  ".conf:3: user.policy cannot be \"try\"" },
		{ NULL,
		  { "-c", "9" },
		  ENXIO,
		  "-c: CPU list \"9\": \"9\" names a CPU that does not" },
		{ "[cpus]\nworkload = 1-x\n",
		  { NULL },
		  EINVAL,
		  ".conf:2: cpus.workload: CPU list \"1-x\"" },
		{ "[cpus]\nhousekeeping = 9\n",
		  { NULL },
		  ENXIO,
		  ".conf:2: cpus.housekeeping: CPU list" },
		{ "[irq]\nthreads=yes\n",
		  { "-c", "all" },
		  EINVAL,
		  "[irq] needs CPUs to move other work" },
		{ "[cgroup]\npolicy=try\n",
		  { "-c", "0-3,6-7" },
		  EINVAL,
		  "CPUs 0-3,6-7 (-c) leave none" },
		{ "[irq]\npolicy=try\n[cpus]\nhousekeeping=4\n",
		  { "-c", "1" },
		  EINVAL,
		  "and cpus.housekeeping leave none" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_options_ struct options o;
		_cleanup_error_ struct error err = ERROR_INIT;
		int rc = resolve(&o, tree_system(*state), cases[i].profile, cases[i].args, &err);

		if (rc != -cases[i].code)
			fail_msg("case %zu: returned %d: %s", i, rc, err.text);
		if (!strstr(err.text, cases[i].says))
			fail_msg("case %zu: said: %s", i, err.text);
	}
}

static void inheritance_without_a_quiesce_keeps_its_posted_meaning(void **state)
{
	_cleanup_options_ struct options o;

	assert_int_equal(resolve(&o, tree_system(*state), NULL, ARGS("-I", "active"), NULL), 0);
	assert_int_equal(o.req.task_isolation.inherit, INHERIT_CONF | INHERIT_ACTIVE);
	assert_int_equal(o.req.task_isolation.quiesce, 0);
}

static void without_isolated_cpus_the_command_must_be_given_some_for_a_machine_wide_section(
	void **state)
{
	struct tree *t = tree_open(plain_tree);
	_cleanup_options_ struct options o;
	_cleanup_error_ struct error err = ERROR_INIT;

	(void)state;
	assert_int_equal(resolve(&o, tree_system(t), "[irq]\npolicy=try\n", NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "name its CPUs with -c"));
	tree_close(t);
}

static void the_inherited_mask_does_not_limit(void **state)
{
	_cleanup_system_ struct system sys = SYSTEM_INIT;
	_cleanup_cpumask_ struct cpumask mine = CPUMASK_INIT, one = CPUMASK_INIT;
	_cleanup_options_ struct options o;
	_cleanup_free_ char *last = NULL;
	int rc;

	(void)state;
	assert_int_equal(system_open(&sys, "/", NULL), 0);
	if (cpumask_weight(&sys.machine.online) < 2)
		skip();
	assert_int_equal(cpumask_get_affinity(&mine, 0), 0);
	cpumask_set(&one, (unsigned int)cpumask_next(&sys.machine.online, 0));
	if (cpumask_set_affinity(&one, 0))
		skip();
	last = xasprintf("%ld", cpumask_last(&sys.machine.online));
	rc = resolve(&o, &sys, NULL, ARGS("-c", last), NULL);
	cpumask_set_affinity(&mine, 0);
	assert_int_equal(rc, 0);
	assert_true(cpumask_test(&o.req.cpus.workload,
	                         (unsigned int)cpumask_last(&sys.machine.online)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(policies_follow_who_asked, setup, tree_teardown),
		cmocka_unit_test_setup_teardown(
			a_stand_in_counts_unless_the_kernel_is_required_in_so_many_words, setup,
			tree_teardown),
		cmocka_unit_test_setup_teardown(cpus_are_divided, setup, tree_teardown),
		cmocka_unit_test_setup_teardown(another_runs_cpus_are_no_housekeeping, setup,
		                                tree_teardown),
		cmocka_unit_test_setup_teardown(resolving_twice_changes_nothing, setup,
		                                tree_teardown),
		cmocka_unit_test_setup_teardown(what_makes_no_sense_is_refused, setup,
		                                tree_teardown),
		cmocka_unit_test_setup_teardown(
			inheritance_without_a_quiesce_keeps_its_posted_meaning, setup,
			tree_teardown),
		cmocka_unit_test(
			without_isolated_cpus_the_command_must_be_given_some_for_a_machine_wide_section),
		cmocka_unit_test(the_inherited_mask_does_not_limit),
	};

	return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
