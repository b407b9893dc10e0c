/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "../../chisol/handover.h"
#include "../../chisol/launch.h"

#define LONG_TEXT 100000 /* more than a socket takes at once */

/* A setting of which "wanted" says what becomes of it. */
static int apply_fate(const struct system *sys, struct task_setting *t, struct error *err)
{
	(void)sys;
	if (!strcmp(t->wanted, "killed"))
		raise(SIGKILL);
	xreplace(&t->granted, t->wanted);
	if (!strcmp(t->wanted, "granted")) {
		task_judge(t, KNOB_GRANTED, REASON_GRANTED, NULL);
		return 0;
	}
	task_judge(t, KNOB_REFUSED, REASON_BUSY, "%0*d", LONG_TEXT, 1);
	error_set(err, EBUSY, "cannot set %s: it is busy", t->name);
	if (err)
		err->reason = REASON_BUSY;
	return -EBUSY;
}

static const struct task_op op_fate = { .stage = TASK_STAGE_AFFINITY, .apply = apply_fate };

struct launch {
	struct system sys;
	struct request req;
	struct plan plan;
	struct launch_signals inherited;
	struct launch_result result;
	struct error err;
	char *argv[4];
	char *events;
	const char *on_tick; /* a file to make */
	int output;          /* the launcher lets go of its standard output */
};

/* A command that exits with status 7, behind a setting that is only tried and two that must be. */
static void setup(struct launch *l, const char *fate)
{
	*l = (struct launch){ .argv = { "sh", "-c", "exit 7", NULL } };
	assert_int_equal(system_open(&l->sys, "/", NULL), 0);
	request_init(&l->req);
	l->req.argv = l->argv;
	plan_add_task(&l->plan, NULL, &op_fate, POLICY_TRY, "first", "refused", "");
	plan_add_task(&l->plan, NULL, &op_fate, POLICY_REQUIRE, "second", fate, "");
	plan_add_task(&l->plan, NULL, &op_fate, POLICY_REQUIRE, "third", "granted", "");
	launch_hold_signals(&l->inherited);
	l->output = dup(STDOUT_FILENO);
}

static void teardown(struct launch *l)
{
	dup2(l->output, STDOUT_FILENO);
	close(l->output);
	sigprocmask(SIG_SETMASK, &l->inherited.mask, NULL);
	plan_free(&l->plan);
	request_free(&l->req);
	system_close(&l->sys);
	error_clear(&l->err);
	free(l->events);
}

static unsigned int note_event(void *ctx, enum launch_event event, pid_t pid)
{
	static const char *const names[] = { "started", "tick", "ended" };
	struct launch *l = ctx;
	_cleanup_free_ char *before = l->events, *path = xasprintf("/proc/%d/stat", (int)pid);

	l->events = xasprintf("%s%s%s ", before ? before : "", names[event],
	                      access(path, R_OK) ? " unreadable" : "");
	if (event == LAUNCH_TICK && l->on_tick)
		close(open(l->on_tick, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	return 0;
}

static int launch(struct launch *l)
{
	return launch_and_wait(&l->sys, &l->req, &l->plan, NULL, &l->inherited,
	                       &(struct launch_hooks){ .watch = note_event, .ctx = l }, &l->result,
	                       &l->err);
}

static void results_come_to_the_parent_however_long(void **state)
{
	struct launch l;

	(void)state;
	setup(&l, "granted");
	assert_int_equal(launch(&l), 0);
	assert_true(l.result.started);
	assert_int_equal(l.result.wait_status, 7 << 8);
	assert_true(l.result.elapsed_ns > 0);
	assert_string_equal(l.events, "started ended ");
	assert_int_equal(l.plan.tasks[0]->state, KNOB_REFUSED);
	assert_ptr_equal(l.plan.tasks[0]->reason, REASON_BUSY);
	assert_int_equal(strlen(l.plan.tasks[0]->detail), LONG_TEXT);
	assert_string_equal(l.plan.tasks[2]->granted, "granted");
	assert_null(l.plan.tasks[2]->detail);
	teardown(&l);
}

static void a_required_setting_that_is_refused_keeps_the_command_from_running(void **state)
{
	struct launch l;

	(void)state;
	setup(&l, "refused");
	assert_int_equal(launch(&l), -EBUSY);
	assert_false(l.result.started);
	assert_int_equal(l.result.exit_status, EXIT_CHISOL);
	assert_null(l.events);
	assert_string_equal(l.err.text, "cannot set second: it is busy");
	assert_ptr_equal(l.err.reason, REASON_BUSY);
	assert_int_equal(l.plan.tasks[1]->state, KNOB_REFUSED);
	assert_int_equal(l.plan.tasks[2]->state, KNOB_PLANNED);
	assert_int_equal(launch_in_place(&l.sys, &l.req, &l.plan, &l.result.exit_status, &l.err),
	                 -EBUSY);
	assert_int_equal(l.result.exit_status, EXIT_CHISOL);
	teardown(&l);
}

static void a_death_while_configuring_is_told(void **state)
{
	struct launch l;

	(void)state;
	setup(&l, "killed");
	assert_int_equal(launch(&l), -ECHILD);
	assert_false(l.result.started);
	assert_int_equal(l.result.exit_status, EXIT_CHISOL);
	assert_non_null(strstr(l.err.text, "signal 9"));
	assert_null(l.events);
	teardown(&l);
}

static void the_watch_is_told_of_the_time_while_the_command_runs(void **state)
{
	char dir[] = "/tmp/test_launch.XXXXXX", script[] = "until [ -e tick ]; do sleep 0.05; done";
	struct launch l;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(chdir(dir), 0);
	setup(&l, "granted");
	l.argv[2] = script;
	l.on_tick = "tick";
	assert_int_equal(launch(&l), 0);
	assert_int_equal(l.result.wait_status, 0);
	assert_int_equal(strncmp(l.events, "started tick ", 13), 0);
	assert_non_null(strstr(l.events, " ended "));
	teardown(&l);
	unlink("tick");
	rmdir(dir);
}

static void a_recorded_tree_runs_nothing(void **state)
{
	struct launch l;

	(void)state;
	setup(&l, "granted");
	l.sys.root.live = false;
	assert_int_equal(launch(&l), -EINVAL);
	assert_int_equal(launch_in_place(&l.sys, &l.req, &l.plan, &l.result.exit_status, &l.err),
	                 -EINVAL);
	assert_null(l.events);
	teardown(&l);
}

/* Wherever the child is killed, and whatever it wrote over its own memory. */
static void words_that_are_cut_or_garbled_are_not_believed(void **state)
{
	_cleanup_handover_ struct handover words = HANDOVER_INIT;
	_cleanup_error_ struct error err = ERROR_INIT;
	int exit_status = 0;
	struct launch l;

	(void)state;
	setup(&l, "granted");
	task_judge(l.plan.tasks[0], KNOB_REFUSED, REASON_BUSY, "busy");
	handover_add_settings(&words, &l.plan);
	handover_add_ready(&words);
	assert_int_equal(handover_merge(&words, &l.plan, &exit_status, &err), HANDOVER_READY);
	for (size_t n = 0; n < words.n; n++) {
		struct handover part = { .bytes = xcalloc(n, 1), .n = n };

		memcpy(part.bytes, words.bytes, n);
		assert_int_equal(handover_merge(&part, &l.plan, &exit_status, &err), HANDOVER_CUT);
		handover_free(&part);
	}
	for (size_t i = 0; i < words.n; i++) {
		words.bytes[i] = (char)~words.bytes[i];
		handover_merge(&words, &l.plan, &exit_status, &err);
		words.bytes[i] = (char)~words.bytes[i];
	}
	teardown(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_come_to_the_parent_however_long),
		cmocka_unit_test(a_required_setting_that_is_refused_keeps_the_command_from_running),
		cmocka_unit_test(a_death_while_configuring_is_told),
		cmocka_unit_test(the_watch_is_told_of_the_time_while_the_command_runs),
		cmocka_unit_test(a_recorded_tree_runs_nothing),
		cmocka_unit_test(words_that_are_cut_or_garbled_are_not_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
