/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tree.h"

#include "../../chisol/status.h"
#include "../../isolcore/state.h"

#include <jansson.h>

static const struct tree_file machine_files[] = {
	{ "sys/devices/system/cpu/online", "0-3" },
	{ "proc/sys/kernel/random/boot_id", "a-boot" },
	{ "proc/sys/x", "2" },
	{ "proc/sys/y", "5" },
	{ "proc/7/stat", "7 (chisol) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0" },
	{ "run/.keep", "" },
	{ NULL, NULL },
};

#define HEADER(pid, boot, order)                                                               \
	"{\"chisol_journal\":1,\"run_id\":\"" pid "-9\",\"boot_id\":\"" boot "\",\"pid\":" pid \
	",\"start_time\":9,\"order\":" order                                                   \
	",\"command\":\"app\",\"cpus\":\"2-3\",\"started\":\"2026-01-02T03:04:05Z\"}\n"
#define RECORDS                                                                                 \
	"{\"seq\":0,\"type\":\"text-file\",\"name\":\"t.x\",\"path\":\"/proc/sys/x\",\"found\"" \
	":\"1\",\"wanted\":\"2\"}\n"                                                            \
	"{\"seq\":1,\"type\":\"text-file\",\"name\":\"t.y\",\"path\":\"/proc/sys/y\",\"found\"" \
	":\"3\",\"wanted\":\"4\"}\n"

/* What the function prints; *status is what it returns. */
static char *print(int (*function)(enum report_format, const struct system *, FILE *,
                                   struct error *),
                   enum report_format format, const struct tree *tree, int *status)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	*status = function(format, &tree->sys, out, &err);
	fclose(out);
	if (*status == EXIT_CHISOL)
		fail_msg("%s", err.text);
	return text;
}

static void says(char *text, const char *const *pieces)
{
	for (; *pieces; pieces++)
		if (!strstr(text, *pieces))
			fail_msg("\"%s\" is not in:\n%s", *pieces, text);
	free(text);
}

static void an_idle_machine_has_nothing_to_tell(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(machine_files);
	int status;

	(void)state;
	says(print(status_print, REPORT_TEXT, tree, &status),
	     (const char *const[]){ "There are no runs.\n", NULL });
	assert_int_equal(status, 0);
	says(print(restore_print, REPORT_TEXT, tree, &status),
	     (const char *const[]){ "There is nothing to restore.\n", NULL });
	assert_int_equal(status, 0);
	assert_false(sysroot_exists(&tree->sys.root, STATE_DIR));
}

static void without_a_boot_id_there_is_an_error_and_no_run_is_told(void **state)
{
	int (*const functions[])(enum report_format, const struct system *, FILE *,
	                         struct error *) = { status_print, restore_print };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		_cleanup_tree_ struct tree *tree = tree_open(machine_files);
		_cleanup_error_ struct error err = ERROR_INIT;

		tree_put(tree, "/run/chisol/7-9.journal", HEADER("7", "a-boot", "1") RECORDS);
		xreplace(&tree->sys.machine.boot_id, "");
		assert_int_equal(functions[i](REPORT_TEXT, &tree->sys, stderr, &err), EXIT_CHISOL);
		assert_non_null(strstr(err.text, "boot_id"));
		tree_expect(tree, "/proc/sys/x", "2\n");
	}
}

static void a_holder_of_the_trace_events_is_told_as_long_as_it_lives(void **state)
{
	static const struct {
		const char *file, *says;
	} rows[] = {
		{ "7 9 32", "Process 7 holds the trace events (--hold-trace).\n" },
		{ "7 8 32", "There are no runs.\n" }, /* another had its number */
		{ "8 9 32", "There are no runs.\n" },
		{ "-7 9 32", "There are no runs.\n" },
		{ "7", "There are no runs.\n" },
		{ "", "There are no runs.\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_tree_ struct tree *tree = tree_open(machine_files);
		_cleanup_free_ char *text = NULL;
		int status;

		tree_write(tree->dir, "run/chisol/trace-hold", rows[i].file);
		text = print(status_print, REPORT_TEXT, tree, &status);
		assert_int_equal(status, 0);
		assert_non_null(strstr(text, rows[i].says));
		assert_int_equal(!!strstr(text, "holds"), i == 0);
	}
}

static void live_and_dead_runs_and_drift_are_told(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(machine_files);
	json_t *json, *runs, *drifted;
	char *text;
	int status;

	(void)state;
	tree_put(tree, "/run/chisol/7-9.journal", HEADER("7", "a-boot", "1") RECORDS);
	tree_put(tree, "/run/chisol/8-9.journal", HEADER("8", "a-boot", "2"));
	tree_put(tree, "/run/chisol/6-9.journal", "rubbish\n");
	says(print(status_print, REPORT_TEXT, tree, &status),
	     (const char *const[]){ "run 7-9, live, since 2026-01-02T03:04:05Z: app\n",
	                            "run 8-9, dead", "CPUs 2-3",
	                            "drifted: t.y (/proc/sys/y): wanted \"4\", now \"5\"",
	                            "chisol --restore", "6-9.journal:1: ", NULL });
	assert_int_equal(status, 1);
	text = print(status_print, REPORT_JSON, tree, &status);
	json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	runs = json_object_get(json, "runs");
	assert_int_equal(json_array_size(runs), 2);
	drifted = json_object_get(json_array_get(runs, 0), "drifted");
	assert_int_equal(json_array_size(drifted), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(drifted, 0), "now")),
	                    "5");
	assert_int_equal(json_array_size(json_object_get(json, "unreadable")), 1);
	json_decref(json);
}

static void a_setting_of_a_younger_run_is_no_drift_of_the_older(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(machine_files);
	int status;

	(void)state;
	tree_put(tree, "/proc/sys/x", "9\n");
	tree_put(tree, "/proc/sys/y", "4\n");
	tree_put(tree, "/proc/8/stat", "8 (b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0\n");
	tree_put(tree, "/run/chisol/7-9.journal", HEADER("7", "a-boot", "1") RECORDS);
	tree_put(tree, "/run/chisol/8-9.journal",
	         HEADER("8", "a-boot", "2") "{\"seq\":0,\"type\":\"text-file\",\"name\":\"t.x\","
	                                    "\"path\":\"/proc/sys/x\",\"found\":\"2\",\"wanted\":"
	                                    "\"9\"}\n");
	free(print(status_print, REPORT_TEXT, tree, &status));
	assert_int_equal(status, 0);
}

static void restore_says_what_became_of_each_run(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(machine_files);
	int status;

	(void)state;
	tree_put(tree, "/run/chisol/7-9.journal", HEADER("7", "a-boot", "1"));
	tree_put(tree, "/run/chisol/8-9.journal", HEADER("8", "a-boot", "2") RECORDS);
	tree_put(tree, "/run/chisol/9-9.journal", HEADER("9", "older", "1") RECORDS);
	says(print(restore_print, REPORT_TEXT, tree, &status),
	     (const char *const[]){ "run 7-9 (app) is live; left alone\n",
	                            "run 8-9 (app): 1 put back, 1 left alone\n",
	                            "  left alone: t.y: /proc/sys/y reads \"5\"",
	                            "run 9-9 (app) was before this boot", NULL });
	assert_int_equal(status, 1);
	tree_expect(tree, "/proc/sys/x", "1\n");
	tree_expect(tree, "/proc/sys/y", "5\n");
	assert_true(sysroot_exists(&tree->sys.root, "/run/chisol/7-9.journal"));
	assert_false(sysroot_exists(&tree->sys.root, "/run/chisol/8-9.journal"));
	assert_false(sysroot_exists(&tree->sys.root, "/run/chisol/9-9.journal"));
	free(print(restore_print, REPORT_TEXT, tree, &status));
	assert_int_equal(status, 0);
}

static void what_could_not_be_put_back_is_told_and_kept(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(machine_files);
	json_t *json, *run;
	char *text;
	int status;

	(void)state;
	tree_put(tree, "/proc/sys/y", "4\n");
	tree_put(tree, "/run/chisol/8-9.journal",
	         HEADER("8", "a-boot", "2") RECORDS "{\"amend\":1,\"field\":\"found\"}\n");
	text = print(restore_print, REPORT_JSON, tree, &status);
	assert_int_equal(status, 1);
	json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	free(text);
	run = json_array_get(json_object_get(json, "runs"), 0);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(run, "outcomes"), "failed")), 1);
	assert_int_equal(json_array_size(json_object_get(run, "problems")), 1);
	assert_true(sysroot_exists(&tree->sys.root, "/run/chisol/8-9.journal"));
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_machine_has_nothing_to_tell),
		cmocka_unit_test(without_a_boot_id_there_is_an_error_and_no_run_is_told),
		cmocka_unit_test(a_holder_of_the_trace_events_is_told_as_long_as_it_lives),
		cmocka_unit_test(live_and_dead_runs_and_drift_are_told),
		cmocka_unit_test(a_setting_of_a_younger_run_is_no_drift_of_the_older),
		cmocka_unit_test(restore_says_what_became_of_each_run),
		cmocka_unit_test(what_could_not_be_put_back_is_told_and_kept),
	};

	return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
