/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tree.h"

#include "../../isolcore/runs.h"
#include "../../isolcore/state.h"

#include <errno.h>

#define BOOT_ID "0c5fb2d4-2f4e-4d4b-a3a4-4d0c8a2d5f11"
#define PATH    "/run/chisol/7-9.journal"
#define HEADER_AS(version, run, pid, order, cpus)                                       \
	"{\"chisol_journal\":" version ",\"run_id\":\"" run "\",\"boot_id\":\"" BOOT_ID \
	"\",\"pid\":" pid ",\"start_time\":9,\"order\":" order                          \
	",\"command\":\"app -x\",\"cpus\":\"" cpus "\",\"started\":\"2026-01-02T03:04:05Z\"}"
#define HEADER HEADER_AS("1", "7-9", "7", "1", "2-3") "\n"
#define RECORD_AS(seq, type, path, found, wanted)                                             \
	"{\"seq\":" seq ",\"type\":\"" type "\",\"name\":\"t.x\",\"path\":\"" path "\"" found \
	",\"wanted\":\"" wanted "\"}\n"
#define RECORD RECORD_AS("3", "text-file", "/proc/sys/x", ",\"found\":\"1\"", "2")

static const struct tree_file machine_files[] = {
	{ "sys/devices/system/cpu/online", "0-3" },
	{ "proc/sys/kernel/random/boot_id", BOOT_ID },
	{ "run/.keep", "" },
	{ NULL, NULL },
};

static int parse(struct journal *j, const char *text, struct error *err)
{
	return journal_parse(j, PATH, text, strlen(text), err);
}

static void a_journal_is_read_with_its_amendments(void **state)
{
	_cleanup_journal_ struct journal j = JOURNAL_INIT;
	_cleanup_free_ char *cpus = NULL;

	(void)state;
	assert_int_equal(parse(&j,
	                       HEADER RECORD RECORD_AS(
				       "5", "number-file", "/y", "",
				       "4") "{\"command_pid\":12}\n"
	                                    "{\"amend\":3,\"field\":\"found\",\"value\":\"8\"}\n"
	                                    "{\"amend\":5,\"field\":\"left\",\"value\":\"9\"}\n",
	                       NULL),
	                 0);
	assert_string_equal(j.run_id, "7-9");
	assert_int_equal(j.pid, 7);
	assert_int_equal(j.command_pid, 12);
	assert_null(j.profiles);
	cpus = cpumask_list(&j.cpus);
	assert_string_equal(cpus, "2-3");
	assert_int_equal(j.n_records, 2);
	assert_string_equal(j.records[0].found, "8");
	assert_null(j.records[1].found);
	assert_string_equal(j.records[1].left, "9");
}

static void a_write_is_in_flight_until_what_came_of_it_is_noted(void **state)
{
#define WRITING RECORD "{\"writing\":3}\n"
	static const struct {
		const char *text;
		bool in_flight;
	} cases[] = {
		{ HEADER RECORD, false },
		{ HEADER WRITING, true },
		{ HEADER WRITING "{\"amend\":3,\"field\":\"found\",\"value\":\"8\"}\n", true },
		{ HEADER WRITING "{\"amend\":3,\"field\":\"left\",\"value\":\"8\"}\n", false },
		{ HEADER WRITING "{\"writing\":null}\n", false },
		{ HEADER WRITING "{\"writing\":nul", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_journal_ struct journal j = JOURNAL_INIT;

		assert_int_equal(parse(&j, cases[i].text, NULL), 0);
		assert_int_equal(j.in_flight, cases[i].in_flight);
		assert_true(!j.in_flight || j.in_flight_seq == 3);
	}
}

static void a_torn_last_line_counts_as_not_written_and_is_mended(void **state)
{
	static const char whole[] = HEADER RECORD;
	static const char torn[] = HEADER RECORD "{\"amend\":3,\"field\":\"fou";
	_cleanup_tree_ struct tree *tree = NULL;
	_cleanup_journal_ struct journal j = JOURNAL_INIT, again = JOURNAL_INIT;
	_cleanup_error_ struct error err = ERROR_INIT;

	(void)state;
	tree = tree_open(machine_files);
	tree_put(tree, PATH, torn);
	assert_int_equal(journal_load(&j, &tree->sys, PATH, &err), 0);
	assert_int_equal(j.size, strlen(whole));
	assert_string_equal(j.records[0].found, "1");
	assert_int_equal(journal_open(&j, &tree->sys, &err), 0);
	assert_int_equal(journal_amend_found(&j, 3, NULL, &err), 0);
	assert_int_equal(journal_sync(&j, &err), 0);
	tree_expect(tree, PATH, HEADER RECORD "{\"amend\":3,\"field\":\"found\"}\n");
	assert_int_equal(journal_load(&again, &tree->sys, PATH, &err), 0);
	assert_null(again.records[0].found);
}

static void hostile_journals_are_refused_with_file_and_line(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "7-9.journal:1: " },
		{ "\n", ":1: " },
		{ HEADER_AS("1", "7-9", "7", "1", "2-3"), "empty" }, /* torn header */
		{ "[1,2]\n", "JSON" },
		{ "not json\n", "JSON" },
		{ "{}\n", "header" },
		{ "{\"chisol_journal\":1}\n", "header" },
		{ RECORD, "header" },
		{ HEADER_AS("2", "7-9", "7", "1", "2") "\n", "version" },
		{ HEADER_AS("\"1\"", "7-9", "7", "1", "2") "\n", "header" },
		{ HEADER_AS("1", "7-8", "7", "1", "2") "\n", "another run" },
		{ HEADER_AS("1", "7-9.journal", "7", "1", "2") "\n", "another run" },
		{ HEADER_AS("1", "7-9", "0", "1", "2") "\n", "range" },
		{ HEADER_AS("1", "7-9", "-1", "1", "2") "\n", "range" },
		{ HEADER_AS("1", "7-9", "4294967303", "1", "2") "\n", "range" },
		{ HEADER_AS("1", "7-9", "99999999999999999999", "1", "2") "\n", "JSON" },
		{ HEADER_AS("1", "7-9", "7.5", "1", "2") "\n", "header" },
		{ HEADER_AS("1", "7-9", "7", "0", "2") "\n", "range" },
		{ HEADER_AS("1", "7-9", "7", "1", "0-18446744073709551615") "\n", "CPUs" },
		{ HEADER_AS("1", "7-9", "7", "1", "all") "\n", "CPUs" },
		{ HEADER_AS("1", "7-9", "7", "1", "2\",\"extra\":\"1") "\n", "header" },
		{ HEADER_AS("1", "7-9", "7,\"pid\":8", "1", "2") "\n", "JSON" },
		{ HEADER_AS("1", "7-9", "7", "1", "2\",\"profiles\":\"\\u001b[2J") "\n",
		  "control" },
		{ HEADER HEADER, ":2: " },
		{ HEADER RECORD_AS("-1", "text-file", "/x", "", "2"), "order" },
		{ HEADER RECORD_AS("4294967296", "text-file", "/x", "", "2"), "order" },
		{ HEADER RECORD RECORD,
		  ":3: cannot be read as a journal: the records are out of order" },
		{ HEADER RECORD_AS("3", "no-such", "/x", "", "2"), "unknown" },
		{ HEADER RECORD_AS("3", "text-file", "x", "", "2"), "absolute" },
		{ HEADER RECORD_AS("3", "text-file", "", "", "2"), "absolute" },
		{ HEADER RECORD_AS("3", "text-file", "/proc/../etc/shadow", "", "2"), "\"..\"" },
		{ HEADER RECORD_AS("3", "text-file", "/proc/..", "", "2"), "\"..\"" },
		{ HEADER RECORD_AS("3", "text-file", "/a\\nb", "", "2"), "absolute" },
		{ HEADER RECORD_AS("3", "text-file", "/a\\u0000b", "", "2"), "JSON" },
		{ HEADER RECORD_AS("3", "text-file", "/x", ",\"found\":7", "2"), "record" },
		{ HEADER RECORD_AS("3", "text-file", "/x", ",\"found\":\"a\\nb\"", "2"), "line" },
		{ HEADER RECORD_AS("3", "text-file", "/x", "", "a\\rb"), "line" },
		{ HEADER RECORD_AS("3", "text-file", "/x", "", "\xff"), "JSON" },
		{ HEADER RECORD_AS("3", "text-file", "/x", "", "2\",\"more\":\"1"), "record" },
		{ HEADER "{\"seq\":1}\n", "record" },
		{ HEADER "{\"amend\":3,\"field\":\"found\",\"value\":\"1\"}\n", "no record" },
		{ HEADER RECORD "{\"amend\":-3,\"field\":\"found\"}\n", "no record" },
		{ HEADER RECORD "{\"amend\":3,\"field\":\"path\",\"value\":\"/etc\"}\n", ":3: " },
		{ HEADER RECORD "{\"amend\":3,\"field\":\"left\",\"value\":\"a\\nb\"}\n", "line" },
		{ HEADER RECORD "{\"writing\":4}\n", "no record" },
		{ HEADER RECORD "{\"writing\":\"3\"}\n", "no record" },
		{ HEADER RECORD "{\"writing\":-4294967293}\n", "no record" },
		{ HEADER RECORD "{\"writing\":null,\"more\":1}\n", "no record" },
		{ HEADER RECORD "{\"restored\":4}\n", "no record" },
		{ HEADER RECORD "{\"restored\":null}\n", "no record" },
		{ HEADER RECORD "{\"restored\":3}\n{\"restored\":3}\n", "no record" },
		{ HEADER "{\"command_pid\":0}\n", "process number" },
		{ HEADER "{\"command_pid\":\"1\"}\n", "process number" },
		{ HEADER "{\"command_pid\":4294967297}\n", "process number" },
		{ HEADER "\n" RECORD, ":2: " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_error_ struct error err = ERROR_INIT;
		struct journal j = JOURNAL_INIT;

		if (parse(&j, cases[i].text, &err) != -EINVAL || !strstr(err.text, cases[i].says) ||
		    strncmp(err.text, PATH ":", strlen(PATH ":")))
			fail_msg("%s: %s", cases[i].text, err.text ? err.text : "taken");
		assert_null(j.path);
	}
}

static void deep_json_is_refused(void **state)
{
	_cleanup_free_ char *deep = xcalloc(100002, 1);
	_cleanup_error_ struct error err = ERROR_INIT;
	struct journal j = JOURNAL_INIT;

	(void)state;
	memset(deep, '[', 100000);
	deep[100000] = '\n';
	assert_int_equal(parse(&j, deep, &err), -EINVAL);
}

static void a_bad_journal_is_told_and_does_not_hide_the_others(void **state)
{
	_cleanup_tree_ struct tree *tree = NULL;
	_cleanup_run_list_ struct run_list list = RUN_LIST_INIT;
	_cleanup_error_ struct error err = ERROR_INIT;

	(void)state;
	tree = tree_open(machine_files);
	assert_int_equal(run_list_load(&list, &tree->sys, NULL, &err), 0);
	assert_int_equal(list.n, 0);
	tree_put(tree, PATH, HEADER RECORD);
	tree_put(tree, "/run/chisol/1-1.journal", "rubbish\n");
	tree_put(tree, "/run/chisol/2-2.journal/x", "a directory");
	tree_put(tree, "/run/chisol/lock", "");
	tree_put(tree, "/run/chisol/3-3.tmp", "{");
	assert_int_equal(run_list_load(&list, &tree->sys, NULL, &err), 0);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.runs[0].run_id, "7-9");
	assert_int_equal(list.bad.n, 2);
	assert_non_null(strstr(list.bad.names[0], "1-1.journal:1: "));
	assert_non_null(strstr(list.bad.names[1], "2-2.journal"));
	assert_int_equal(run_state(&list.runs[0], &tree->sys), RUN_DEAD);
	tree_put(tree, "/proc/7/stat", "7 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0\n");
	assert_int_equal(run_state(&list.runs[0], &tree->sys), RUN_LIVE);
	tree_put(tree, "/proc/7/stat", "7 (x) Z 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9 0 0\n");
	assert_int_equal(run_state(&list.runs[0], &tree->sys), RUN_DEAD);
	tree_put(tree, "/proc/7/stat", "7 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 10 0 0\n");
	assert_int_equal(run_state(&list.runs[0], &tree->sys), RUN_DEAD);
	xreplace(&tree->sys.machine.boot_id, "another");
	assert_int_equal(run_state(&list.runs[0], &tree->sys), RUN_OTHER_BOOT);
}

static void what_a_journal_cannot_hold_is_refused_before_anything_is_written(void **state)
{
	static const struct {
		const char *path, *wanted;
	} cases[] = { { "relative", "1" }, { "/a/../b", "1" }, { "/a", "1\n2" }, { "/\xff", "1" } };
	_cleanup_tree_ struct tree *tree = NULL;
	_cleanup_close_ int fd = -1;

	(void)state;
	tree = tree_open(machine_files);
	assert_int_equal(state_lock(&tree->sys.root, NULL, &fd, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_journal_ struct journal j = JOURNAL_INIT;
		_cleanup_plan_ struct plan plan = PLAN_INIT;
		_cleanup_error_ struct error err = ERROR_INIT;
		struct request req = { 0 };

		plan_add(&plan, NULL, &knob_text_file, POLICY_TRY, "t.bad", cases[i].path, "0",
		         cases[i].wanted, "");
		assert_int_equal(journal_create(&j, &tree->sys, &req, &plan, "7-9", 1, &err),
		                 -EINVAL);
		assert_non_null(strstr(err.text, "t.bad"));
		assert_false(sysroot_exists(&tree->sys.root, PATH));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_journal_is_read_with_its_amendments),
		cmocka_unit_test(a_write_is_in_flight_until_what_came_of_it_is_noted),
		cmocka_unit_test(a_torn_last_line_counts_as_not_written_and_is_mended),
		cmocka_unit_test(hostile_journals_are_refused_with_file_and_line),
		cmocka_unit_test(deep_json_is_refused),
		cmocka_unit_test(a_bad_journal_is_told_and_does_not_hide_the_others),
		cmocka_unit_test(what_a_journal_cannot_hold_is_refused_before_anything_is_written),
	};

	return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
