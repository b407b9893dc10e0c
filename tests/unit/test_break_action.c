/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../isolcore/break_action.h"
#include "../../isolcore/profile_keys.h"

#include <errno.h>
#include <signal.h>

static void every_action_is_taken_as_written(void **state)
{
	static const struct {
		const char *text;
		struct break_action action;
	} rows[] = {
		{ "none", { BREAK_ACTION_NONE, 0, NULL } },
		{ "stop", { BREAK_ACTION_STOP, 0, NULL } },
		{ "trace-off", { BREAK_ACTION_TRACE_OFF, 0, NULL } },
		{ "signal:SIGUSR1", { BREAK_ACTION_SIGNAL, SIGUSR1, NULL } },
		{ "signal:USR2", { BREAK_ACTION_SIGNAL, SIGUSR2, NULL } },
		{ "signal:1", { BREAK_ACTION_SIGNAL, SIGHUP, NULL } },
		{ "signal:64", { BREAK_ACTION_SIGNAL, 64, NULL } },
		{ "command:a: b, \"c\"", { BREAK_ACTION_COMMAND, 0, "a: b, \"c\"" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct break_action action = { .signal = 99 };

		assert_int_equal(break_action_parse(&action, rows[i].text, NULL), 0);
		assert_int_equal(action.kind, rows[i].action.kind);
		assert_int_equal(action.signal, rows[i].action.signal);
		if (rows[i].action.command)
			assert_string_equal(action.command, rows[i].action.command);
		else
			assert_null(action.command);
	}
}

static void what_is_no_action_is_refused_with_what_may_be_written(void **state)
{
	static const struct {
		const char *text, *sentence;
	} rows[] = {
		{ "", "\"\" is none of none, stop, trace-off, signal:NAME and command:TEXT" },
		{ "stop ", "\"stop \" is none of" },
		{ "Stop", "is none of" },
		{ "signal", "is none of" },
		{ "stop:now", "is none of" },
		{ "signal:", "there is nothing after the colon of \"signal:\"" },
		{ "command:", "there is nothing after the colon" },
		{ "signal:0", "there is no signal \"0\"" },
		{ "signal:65", "there is no signal" },
		{ "signal:-9", "there is no signal" },
		{ "signal:18446744073709551625", "there is no signal" },
		{ "signal:SIG", "there is no signal" },
		{ "signal:SIGUSR9", "there is no signal \"SIGUSR9\"; did you mean \"SIGUSR1\"?" },
		{ "signal:usr1", "there is no signal \"usr1\"" },
		{ "signal:USR1 ", "there is no signal" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_error_ struct error err = ERROR_INIT;
		struct break_action action;

		assert_int_equal(break_action_parse(&action, rows[i].text, &err), -EINVAL);
		if (!strstr(err.text, rows[i].sentence))
			fail_msg("\"%s\" is not in: %s", rows[i].sentence, err.text);
	}
}

static void a_profile_with_another_action_is_refused_by_its_key(void **state)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_request_ struct request req;
	int index = profile_key_index("probe", "on_break");

	(void)state;
	request_init(&req);
	assert_string_equal(req.probe.on_break, "none");
	assert_int_equal(
		profile_key_set(&req, (unsigned int)index, "halt", GIVEN_SET, "--set", false, &err),
		-EINVAL);
	assert_non_null(strstr(err.text, "probe.on_break: \"halt\" is none of"));
	assert_string_equal(req.probe.on_break, "none");
	assert_int_equal(req.origins[index].given, GIVEN_NOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_action_is_taken_as_written),
		cmocka_unit_test(what_is_no_action_is_refused_with_what_may_be_written),
		cmocka_unit_test(a_profile_with_another_action_is_refused_by_its_key),
	};

	return cmocka_run_group_tests_name("break_action", tests, NULL, NULL);
}
