/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "../../isolcore/profile.h"
#include "tree.h"

static int parse_bytes(struct request *req, const char *text, size_t len, struct error *err)
{
	return profile_parse(req, "p.conf", text, len, err);
}

static int parse(struct request *req, const char *text, struct error *err)
{
	return parse_bytes(req, text, strlen(text), err);
}

static void parse_well(struct request *req, const char *text)
{
	_cleanup_error_ struct error err = ERROR_INIT;

	request_init(req);
	if (parse(req, text, &err))
		fail_msg("%s", err.text);
}

static void everything_that_may_be_written_is_read(void **state)
{
	static const char text[] = "\xef\xbb\xbf# a byte order mark, and Windows line ends\r\n"
				   "\r\n"
				   "[profile]\r\n"
				   "description = it's;a#test # with a comment\r\n"
				   "policy=require\r\n"
				   "[cpus]    ; a comment\n"
				   "workload = node:1,!4 , 8\n"
				   "[cgroup]\n"
				   "partition\t=\troot\n"
				   "helpers = no\n"
				   "start = run\n"
				   "parent = /a=b:c\n"
				   "mems =\n"
				   "[irq]\n"
				   "keep = eth0,24 ; not these\n"
				   "[task_isolation]\n"
				   "quiesce = vmstat_sync\n"
				   "inherit = conf, active\n"
				   "oneshot = yes\n"
				   "prctl_base = 100\n"
				   "[irq]\n"
				   "threads = no\n"
				   "[vmstat]\n"
				   "stat_interval = 120";
	_cleanup_request_ struct request req;

	(void)state;
	parse_well(&req, text);
	assert_string_equal(req.profile.description, "it's;a#test");
	assert_int_equal(req.profile.policy, POLICY_REQUIRE);
	assert_string_equal(req.cpus.workload_text, "node:1,!4 , 8");
	assert_int_equal(req.cgroup.partition, PARTITION_ROOT);
	assert_int_equal(req.cgroup.helpers, ANSWER_NO);
	assert_int_equal(req.cgroup.start, START_RUN);
	assert_string_equal(req.cgroup.parent, "/a=b:c");
	assert_null(req.cgroup.mems_text);
	assert_string_equal(req.irq.keep, "eth0,24");
	assert_int_equal(req.irq.threads, ANSWER_NO);
	assert_int_equal(req.task_isolation.inherit, INHERIT_CONF | INHERIT_ACTIVE);
	assert_true(req.task_isolation.oneshot);
	assert_int_equal(req.task_isolation.prctl_base, 100);
	assert_int_equal(req.vmstat.stat_interval, 120);
	assert_string_equal(request_origin(&req, "irq.threads"), "p.conf:22");
}

struct trap {
	const char *text, *says;
};

#define X10  "xxxxxxxxxx"
#define X50  X10 X10 X10 X10 X10
#define X200 X50 X50 X50 X50

static const struct trap traps[] = {
	{ "threads = yes\n", "p.conf:1: key \"threads\" stands before any [section]" },
	{ "[irq]\nthread = yes\n",
	  "p.conf:2: there is no key \"thread\" in [irq]; did you mean \"threads\"?" },
	{ "[irq]\npartition = root\n",
	  "p.conf:2: there is no key \"partition\" in [irq]; it belongs" },
	{ "[irq]\nxyz = 1\n", "chisol.conf(5) lists them" },
	{ "[irqs]\nthreads = yes\n",
	  "p.conf:1: there is no section \"irqs\"; did you mean [irq]?" },
	{ "[IRQ]\n", "p.conf:1: there is no section \"IRQ\"" },
	{ "[nonsense]\n", "p.conf:1: there is no section \"nonsense\"; chisol.conf(5)" },
	{ "[ irq ]\n", "there is no section \" irq \"" },
	{ "[power]\nx = 1\n", "p.conf:1: section [power] is not supported by this version" },
	{ "[irq\nthreads = yes\n", "p.conf:1: a section is not closed" },
	{ "[irq] threads = yes\n", "p.conf:1: there is something after the \"]\"" },
	{ "[irq]x\n", "p.conf:1: there is something after the \"]\"" },
	{ "[irq ; comment]\n", "p.conf:1: a section is not closed" },
	{ "[]\n", "p.conf:1: a section has no name" },
	{ "[irq]\n= yes\n", "p.conf:2: there is no key before the \"=\"" },
	{ "[irq]\nthreads\n",
	  "p.conf:2: \"threads\" is neither \"[section]\" nor \"key = value\"" },
	{ "[irq]\nthreads: yes\n", "p.conf:2: \"threads: yes\" is neither" },
	{ "[irq]\nthreads: a = yes\n", "p.conf:2: \"threads: a\" is neither" },
	{ "[irq]\nthreads = yes\nthreads = no\n",
	  "p.conf:3: threads is given twice in this file; line 2 has it already" },
	{ "[irq]\nthreads = yes\n[vmstat]\n[irq]\nthreads = yes\n",
	  "p.conf:5: threads is given twice" },
	{ "[irq]\nkeep = eth0\n  eth1\n", "p.conf:3: the line is indented" },
	{ "[irq]\n\tthreads = yes\n", "p.conf:2: the line is indented" },
	{ "[irq]\nkeep = a,\n b\n c\n", "p.conf:4: the line is indented" },
	{ "[irq]\nkeep = a,\n[vmstat]\n b\n", "p.conf:4: the line is indented" },
	{ "[irq]\nkeep = a,\n " X200 "\n", "p.conf:3: the line has 201 characters; at most " },
	{ "[probe]\non_break_of = cause,\n # comment\n self,\n thread\n",
	  "p.conf:2: probe.on_break_of cannot be" },
	{ "[irq]\nkeep = " X200 "\n", "end this one with a comma" },
	{ "[irq]\nthreads = ja\n",
	  "p.conf:2: irq.threads cannot be \"ja\"; it takes yes, no or auto" },
	{ "[irq]\nthreads =\n", "p.conf:2: irq.threads cannot be \"\"" },
	{ "[irq]\nthreads = \"yes\"\n", "cannot be \"\"yes\"\"" },
	{ "[irq]\nthreads = Yes\n", "did you mean \"yes\"?" },
	{ "[cgroup]\npartition = isolate\n", "did you mean \"isolated\"?" },
	{ "[vmstat]\nstat_interval = 0\n",
	  "p.conf:2: vmstat.stat_interval cannot be \"0\"; it takes 1 to "
	  "2147483 (0 would make the kernel" },
	{ "[vmstat]\nstat_interval = 1e3\n", "cannot be \"1e3\"" },
	{ "[vmstat]\nstat_interval = +5\n", "cannot be \"+5\"" },
	{ "[vmstat]\nstat_interval = 18446744073709551617\n", "it takes 1 to 2147483" },
	{ "[vmstat]\nflush = auto\n",
	  "p.conf:2: vmstat.flush cannot be \"auto\"; it takes yes or no" },
	{ "[irq]\nkeep = " X200 "\n", "p.conf:2: the line has 207 characters; at most " },
	{ "[" X50 X10 "]\n", "p.conf:1: there is no section \"" },
	{ "[irq]\n" X50 X10 " = 1\n", "p.conf:2: there is no key \"" },
	{ "[irq]\nkeep = a\rb\n", "p.conf:2: character \\x0d at column 9" },
	{ "[irq]\rthreads = yes\r", "p.conf:1: character \\x0d at column 6" },
	{ "[irq]\nkeep = a\x1b[31m\n", "p.conf:2: character \\x1b at column 9" },
	{ "[irq]\nthre\x80 = 1\n", "\"thre\\x80\"" },
};

static void what_inih_would_hide_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(traps); i++) {
		_cleanup_request_ struct request req;
		_cleanup_error_ struct error err = ERROR_INIT;

		request_init(&req);
		if (parse(&req, traps[i].text, &err) != -EINVAL)
			fail_msg("not refused: %s", traps[i].text);
		if (!strstr(err.text, traps[i].says))
			fail_msg("%s\nsaid: %s", traps[i].text, err.text);
	}
}

static void a_nul_byte_is_told_even_in_a_comment(void **state)
{
	static const char text[] = "[irq]\n# x\0y\nthreads = yes\n";
	_cleanup_request_ struct request req;
	_cleanup_error_ struct error err = ERROR_INIT;

	(void)state;
	request_init(&req);
	assert_int_equal(parse_bytes(&req, text, sizeof(text) - 1, &err), -EINVAL);
	assert_string_equal(err.text,
	                    "p.conf:2: character \\x00 at column 4: a profile is plain text");
}

static void a_long_comment_does_no_harm(void **state)
{
	_cleanup_request_ struct request req;

	(void)state;
	request_init(&req);
	assert_int_equal(parse(&req, "# " X200 X200 "\n[irq]\nthreads = no   ; " X200 "\n", NULL),
	                 0);
	assert_int_equal(req.irq.threads, ANSWER_NO);
}

static void a_line_of_the_greatest_length_arrives_whole(void **state)
{
	for (size_t len = 150; len < 400; len++) {
		_cleanup_request_ struct request req;
		_cleanup_free_ char *value = xcalloc(len + 1, 1), *text = NULL;

		(void)state;
		memset(value, 'x', len);
		text = xasprintf("[irq]\nkeep = %s\nthreads = no\n", value);
		request_init(&req);
		if (parse(&req, text, NULL))
			continue;
		assert_string_equal(req.irq.keep, value);
		assert_int_equal(req.irq.threads, ANSWER_NO);
	}
}

static void a_list_goes_on_after_a_comma(void **state)
{
	static const char text[] = "[irq]\nkeep = eth0, # the first\n\n"
				   "\t" X50 X50 ",\n"
				   "; more of it\n"
				   "  " X50 X50 " , \r\n"
				   " 24;25\n"
				   "threads = no\n"
				   "[task_isolation]\ninherit = conf,\n active\n"
				   "[cpus]\nworkload = 0-3,\n 8";
	_cleanup_request_ struct request req;

	(void)state;
	parse_well(&req, text);
	assert_string_equal(req.irq.keep, "eth0," X50 X50 "," X50 X50 " ,24;25");
	assert_string_equal(request_origin(&req, "irq.keep"), "p.conf:2");
	assert_int_equal(req.irq.threads, ANSWER_NO);
	assert_int_equal(req.task_isolation.inherit, INHERIT_CONF | INHERIT_ACTIVE);
	assert_string_equal(req.cpus.workload_text, "0-3,8");
}

static void what_goes_on_after_a_refused_key_is_not_complained_about(void **state)
{
	_cleanup_request_ struct request req;
	_cleanup_error_ struct error err = ERROR_INIT;

	(void)state;
	request_init(&req);
	assert_int_equal(parse(&req, "[irq]\nkeeps = a,\n b,\n c\n", &err), -EINVAL);
	assert_string_equal(err.text,
	                    "p.conf:2: there is no key \"keeps\" in [irq]; did you mean \"keep\"?");
}

static void all_errors_are_told_at_once_but_not_without_end(void **state)
{
	_cleanup_request_ struct request req;
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_free_ char *text = xcalloc(1, 4096);
	unsigned int lines = 1;

	(void)state;
	request_init(&req);
	strcpy(text, "[irq]\n");
	for (int i = 0; i < 50; i++)
		strcat(text, "xyz = 1\n");
	assert_int_equal(parse(&req, text, &err), -EINVAL);
	for (const char *p = err.text; (p = strchr(p, '\n')); p++)
		lines++;
	assert_int_equal(lines, 21);
	assert_non_null(strstr(err.text, "p.conf:2: "));
	assert_non_null(strstr(err.text, "p.conf:21: "));
	assert_non_null(strstr(err.text, "p.conf: 30 more errors"));
}

static void the_keys_of_a_bad_section_are_not_complained_about(void **state)
{
	_cleanup_request_ struct request req;
	_cleanup_error_ struct error err = ERROR_INIT;

	(void)state;
	request_init(&req);
	assert_int_equal(parse(&req, "[irq]\n[pawer\nthreads = x\nfoo\n", &err), -EINVAL);
	assert_null(strstr(err.text, "p.conf:3"));
	assert_int_equal(req.irq.threads, ANSWER_AUTO);
}

static void later_profiles_and_set_override(void **state)
{
	_cleanup_request_ struct request req;
	_cleanup_error_ struct error err = ERROR_INIT;

	(void)state;
	request_init(&req);
	assert_int_equal(parse(&req, "[irq]\nthreads=no\nkeep=1\n", NULL), 0);
	assert_int_equal(parse(&req, "[irq]\n\nthreads=yes\n", NULL), 0);
	assert_int_equal(profile_set(&req, " irq.default_affinity = no ", NULL), 0);
	assert_int_equal(req.irq.threads, ANSWER_YES);
	assert_string_equal(req.irq.keep, "1");
	assert_int_equal(req.irq.default_affinity, ANSWER_NO);
	assert_string_equal(request_origin(&req, "irq.threads"), "p.conf:3");
	assert_string_equal(request_origin(&req, "irq.keep"), "p.conf:3");
	assert_int_equal(profile_set(&req, "irq.keep=a\nb", &err), -EINVAL);
	assert_string_equal(err.text, "--set \"irq.keep=a\\x0ab\": the value is not plain text");
}

/* A home directory with profiles in it. */
static const struct tree_file home[] = {
	{ "sys/devices/system/cpu/online", "0" },
	{ ".config/chisol/mine.conf", "[irq]\nthreads = no" },
	{ ".config/chisol/twice.conf", "[irq]\nthreads = no" },
	{ "extra/twice.conf", "[irq]\nthreads = yes" },
	{ "extra/dir.conf/x", "" },
	{ "extra/notes.txt", "" },
	{ "file", "" },
	{ 0 },
};

static int setup_home(void **state)
{
	struct tree *t = tree_open(home);
	_cleanup_free_ char *path = xasprintf("/nowhere::%s/extra:%s/file", t->dir, t->dir);

	unsetenv("SUDO_UID");
	unsetenv("DOAS_USER");
	unsetenv("PKEXEC_UID");
	unsetenv("XDG_CONFIG_HOME");
	setenv("HOME", t->dir, 1);
	setenv("CHISOL_PROFILE_PATH", path, 1);
	*state = t;
	return 0;
}

static int teardown_home(void **state)
{
	tree_close(*state);
	return 0;
}

static void a_name_is_looked_up_in_order(void **state)
{
	_cleanup_request_ struct request req;
	_cleanup_error_ struct error err = ERROR_INIT;

	(void)state;
	request_init(&req);
	assert_int_equal(profile_load(&req, "mine", &err), 0);
	assert_null(err.text);
	assert_int_equal(req.irq.threads, ANSWER_NO);
	assert_int_equal(profile_load(&req, "twice", NULL), 0);
	assert_int_equal(req.irq.threads, ANSWER_YES);
	assert_string_equal(req.profile.names, "mine,twice");
}

static void a_name_that_is_not_found_says_where_it_was_looked_for(void **state)
{
	const struct tree *t = *state;
	_cleanup_request_ struct request req;
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_free_ char *dir = xasprintf("Looked in: /nowhere, %s/extra, ", t->dir);

	request_init(&req);
	assert_int_equal(profile_load(&req, "twize", &err), -ENOENT);
	assert_non_null(strstr(err.text, "there is no profile \"twize\"; did you mean \"twice\"?"));
	assert_non_null(strstr(err.text, dir));
	assert_non_null(strstr(err.text, "mine"));
	assert_null(strstr(err.text, "notes"));
	assert_null(req.profile.names);
}

static void under_sudo_the_callers_directories_are_left_out(void **state)
{
	_cleanup_request_ struct request req;
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_free_ char *file =
		xasprintf("%s/.config/chisol/mine.conf", ((struct tree *)*state)->dir);

	if (geteuid() != 0)
		skip();
	request_init(&req);
	setenv("SUDO_UID", "1000", 1);
	assert_int_equal(profile_load(&req, "mine", &err), -ENOENT);
	assert_non_null(strstr(err.text, "not used under sudo"));
	assert_null(strstr(err.text, ".config/chisol,"));
	assert_int_equal(profile_load(&req, file, NULL), 0);
	unsetenv("SUDO_UID");
}

static void what_is_no_file_to_read_is_refused(void **state)
{
	const struct tree *t = *state;
	_cleanup_free_ char *missing = xasprintf("%s/none.conf", t->dir);
	_cleanup_free_ char *dir = xasprintf("%s/extra/dir.conf", t->dir);
	const struct {
		const char *name;
		int code;
		const char *says;
	} cases[] = {
		{ "", EINVAL, "the name of the profile is empty" },
		{ "dir", EISDIR, "dir.conf: it is a directory" },
		{ dir, EISDIR, "it is a directory" },
		{ missing, ENOENT, "No such file" },
		{ "none.conf", ENOENT, "cannot read the profile none.conf" },
		{ "/dev/zero", EINVAL, "/dev/zero: it is not a regular file" },
		{ "/dev/null", EINVAL, "/dev/null: it is not a regular file" },
		{ "..", ENOENT, "there is no profile \"..\"" },
		{ "x\x1b[31m", ENOENT, "there is no profile \"x\\x1b[31m\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_request_ struct request req;
		_cleanup_error_ struct error err = ERROR_INIT;

		request_init(&req);
		assert_int_equal(profile_load(&req, cases[i].name, &err), -cases[i].code);
		if (!strstr(err.text, cases[i].says))
			fail_msg("%s: said: %s", cases[i].name, err.text);
	}
}

static void a_huge_file_is_refused(void **state)
{
	const struct tree *t = *state;
	_cleanup_request_ struct request req;
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_free_ char *path = xasprintf("%s/huge.conf", t->dir);

	tree_write(t->dir, "huge.conf", "");
	assert_int_equal(truncate(path, 1L << 40), 0);
	request_init(&req);
	assert_int_equal(profile_load(&req, path, &err), -EFBIG);
	assert_non_null(strstr(err.text, "it is larger than 1048576 bytes"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_that_may_be_written_is_read),
		cmocka_unit_test(what_inih_would_hide_is_told),
		cmocka_unit_test(a_nul_byte_is_told_even_in_a_comment),
		cmocka_unit_test(a_long_comment_does_no_harm),
		cmocka_unit_test(a_line_of_the_greatest_length_arrives_whole),
		cmocka_unit_test(a_list_goes_on_after_a_comma),
		cmocka_unit_test(what_goes_on_after_a_refused_key_is_not_complained_about),
		cmocka_unit_test(all_errors_are_told_at_once_but_not_without_end),
		cmocka_unit_test(the_keys_of_a_bad_section_are_not_complained_about),
		cmocka_unit_test(later_profiles_and_set_override),
		cmocka_unit_test_setup_teardown(a_name_is_looked_up_in_order, setup_home,
		                                teardown_home),
		cmocka_unit_test_setup_teardown(
			a_name_that_is_not_found_says_where_it_was_looked_for, setup_home,
			teardown_home),
		cmocka_unit_test_setup_teardown(under_sudo_the_callers_directories_are_left_out,
		                                setup_home, teardown_home),
		cmocka_unit_test_setup_teardown(what_is_no_file_to_read_is_refused, setup_home,
		                                teardown_home),
		cmocka_unit_test_setup_teardown(a_huge_file_is_refused, setup_home, teardown_home),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
