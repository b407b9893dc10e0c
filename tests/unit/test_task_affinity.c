/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "../../isolcore/task_affinity.h"

static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	return pid;
}

static void end_sleeper(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_thread_is_moved_and_moved_back(void **state)
{
	_cleanup_system_ struct system sys = SYSTEM_INIT;
	struct process thread;
	_cleanup_cpumask_ struct cpumask first = CPUMASK_INIT;
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_free_ char *path = NULL, *found = NULL, *one = NULL, *value = NULL;
	pid_t pid = start_sleeper();

	(void)state;
	assert_int_equal(system_open(&sys, "/", &err), 0);
	assert_int_equal(process_read(&thread, &sys.root, pid, &err), 0);
	assert_true(thread.start_time > 0);
	assert_false(thread.flags & PROCESS_KTHREAD);
	path = task_affinity_path(&thread);
	assert_int_equal(knob_task_affinity.read(&sys, path, &found, &err), 0);
	cpumask_set(&first, (unsigned int)cpumask_next(&sys.machine.online, 0));
	one = cpumask_list(&first);

	assert_int_equal(knob_task_affinity.write(&sys, path, one, &err), 0);
	assert_int_equal(knob_task_affinity.read(&sys, path, &value, &err), 0);
	assert_string_equal(value, one);
	assert_int_equal(knob_task_affinity.write(&sys, path, found, &err), 0);
	free(value);
	assert_int_equal(knob_task_affinity.read(&sys, path, &value, &err), 0);
	assert_string_equal(value, found);
	end_sleeper(pid);
	free(value);
	assert_int_equal(knob_task_affinity.read(&sys, path, &value, &err), -ENOENT);
	assert_null(value);
}

static void a_reused_number_is_another_thread(void **state)
{
	_cleanup_system_ struct system sys = SYSTEM_INIT;
	struct process thread;
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_free_ char *path = NULL, *value = NULL;

	(void)state;
	assert_int_equal(system_open(&sys, "/", &err), 0);
	assert_int_equal(process_read(&thread, &sys.root, getpid(), &err), 0);
	thread.start_time--;
	path = task_affinity_path(&thread);
	assert_int_equal(knob_task_affinity.read(&sys, path, &value, &err), -ENOENT);
	assert_int_equal(knob_task_affinity.write(&sys, path, "0", &err), -ENOENT);
	assert_non_null(strstr(err.text, "another one's"));
}

static void paths_that_no_chisol_wrote_are_refused(void **state)
{
	static const char *const bad[] = {
		"",           "/proc/",     "/proc/1",    "/proc//1",    "/proc/0/1",
		"/proc/-1/1", "/proc/1/-1", "/proc/1/1x", "/proc/x/1",   "/proc/1/",
		"/proc/ 1/1", "/proc/1/ 1", "/proc/+1/1", "/proc/1/1/1", "/proc/4294967297/1",
		"1/1",
	};
	_cleanup_system_ struct system sys = SYSTEM_INIT;

	(void)state;
	assert_int_equal(system_open(&sys, "/", NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char *value = NULL;

		assert_int_equal(knob_task_affinity.read(&sys, bad[i], &value, NULL), -EINVAL);
		assert_int_equal(knob_task_affinity.write(&sys, bad[i], "0", NULL), -EINVAL);
	}
}

static void a_bound_kernel_thread_is_exposed_not_refused(void **state)
{
	_cleanup_system_ struct system sys = SYSTEM_INIT;
	_cleanup_error_ struct error err = ERROR_INIT;
	struct knob knob = { .type = &knob_task_affinity, .state = KNOB_REFUSED };
	_cleanup_free_ char *path = NULL, *value = NULL;

	(void)state;
	assert_int_equal(system_open(&sys, "/", NULL), 0);
	for (pid_t pid = 2; pid < 64 && !path; pid++) {
		struct process thread;

		if (!process_read(&thread, &sys.root, pid, NULL) &&
		    !strncmp(thread.comm, "ksoftirqd/", 10))
			path = task_affinity_path(&thread);
	}
	if (!path || geteuid())
		skip(); /* no kernel thread in sight (a container), or not root */
	assert_int_equal(knob_task_affinity.read(&sys, path, &value, &err), 0);
	assert_int_equal(knob_task_affinity.write(&sys, path, value, &err), -EINVAL);
	knob.path = path;
	knob.wanted = value;
	knob_task_affinity.judge(&sys, &knob, &err);
	assert_int_equal(knob.state, KNOB_EXPOSED);
	assert_ptr_equal(knob.reason, REASON_BOUND_THREAD);
	free(knob.detail);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_is_moved_and_moved_back),
		cmocka_unit_test(a_reused_number_is_another_thread),
		cmocka_unit_test(paths_that_no_chisol_wrote_are_refused),
		cmocka_unit_test(a_bound_kernel_thread_is_exposed_not_refused),
	};

	return cmocka_run_group_tests_name("task-affinity", tests, NULL, NULL);
}
