/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "../../chisol/options.h"

/* Splits at single blanks: 'chisol' and the words. */
static char **split(const char *line, int *argc)
{
	static char buf[512], name[] = "chisol";
	static char *argv[32];
	char *save = NULL;

	assert_in_range(snprintf(buf, sizeof(buf), "%s", line), 0, sizeof(buf) - 1);
	*argc = 0;
	argv[(*argc)++] = name;
	for (char *w = strtok_r(buf, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[(*argc)++] = w;
	argv[*argc] = NULL;
	return argv;
}

static int parse(struct options *o, const char *line, bool *usage, struct error *err)
{
	int argc;
	char **argv = split(line, &argc);

	return options_parse(o, argc, argv, usage, err);
}

static void every_action_is_understood(void **state)
{
	static const struct {
		const char *line;
		enum action action;
	} cases[] = {
		{ "true", ACTION_RUN },
		{ "-- true", ACTION_RUN },
		{ "-n", ACTION_DRY_RUN },
		{ "-n true", ACTION_DRY_RUN },
		{ "--dry-run=json -c 1 true", ACTION_DRY_RUN },
		{ "-C", ACTION_CHECK },
		{ "--check --report json", ACTION_CHECK },
		{ "-R", ACTION_RESTORE },
		{ "--status", ACTION_STATUS },
		{ "--status --status", ACTION_STATUS },
		{ "-ir json", ACTION_INFO },
		{ "-i --root /tmp", ACTION_INFO },
		{ "-i -s task_isolation.prctl_base=100 -r json", ACTION_INFO },
		{ "-h", ACTION_HELP },
		{ "--status -h -c", ACTION_HELP },
		{ "-V true", ACTION_VERSION },
		{ "--vers", ACTION_VERSION },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_options_ struct options o;
		_cleanup_error_ struct error err = ERROR_INIT;

		if (parse(&o, cases[i].line, NULL, &err))
			fail_msg("%s: %s", cases[i].line, err.text);
		assert_int_equal(o.action, cases[i].action);
	}
}

static void the_commands_own_options_are_left_alone(void **state)
{
	_cleanup_options_ struct options o;

	(void)state;
	assert_int_equal(parse(&o, "-q vmstat_sync ls -c 7 --help", NULL, NULL), 0);
	assert_string_equal(o.req.argv[0], "ls");
	assert_string_equal(o.req.argv[3], "--help");
	assert_null(o.req.argv[4]);
	assert_null(o.req.cpus.workload_text);
}

static void options_reach_the_request_and_say_who_asked(void **state)
{
	_cleanup_options_ struct options o;

	(void)state;
	assert_int_equal(parse(&o,
	                       "-c 2-3 -q vmstat_sync -I active -a -u nobody --keep-caps "
	                       "sys_nice -s vmstat.stat_interval=60 true",
	                       NULL, NULL),
	                 0);
	assert_string_equal(o.req.cpus.workload_text, "2-3");
	assert_int_equal(o.req.task_isolation.quiesce, QUIESCE_VMSTAT_SYNC);
	assert_int_equal(o.req.task_isolation.inherit, INHERIT_CONF | INHERIT_ACTIVE);
	assert_true(o.req.task_isolation.activate);
	assert_string_equal(o.req.user.user, "nobody");
	assert_string_equal(o.req.user.keep_caps, "sys_nice");
	assert_int_equal(o.req.vmstat.stat_interval, 60);
	assert_string_equal(request_origin(&o.req, "cpus.workload"), "-c");
	assert_string_equal(request_origin(&o.req, "user.keep_caps"), "--keep-caps");
	assert_string_equal(request_origin(&o.req, "vmstat.stat_interval"), "--set");
	assert_null(request_origin(&o.req, "irq.threads"));
	assert_null(request_origin(&o.req, "no.such"));
}

static void a_repeated_option_overrides_and_a_repeated_word_list_adds(void **state)
{
	_cleanup_options_ struct options o;

	(void)state;
	assert_int_equal(parse(&o, "-c 1 -c 2 -I active -I conf -vvv true", NULL, NULL), 0);
	assert_string_equal(o.req.cpus.workload_text, "2");
	assert_int_equal(o.req.task_isolation.inherit, INHERIT_CONF | INHERIT_ACTIVE);
}

static void reports_are_collected_and_not_opened(void **state)
{
	_cleanup_options_ struct options o;

	(void)state;
	assert_int_equal(parse(&o, "-r text -r json:/nowhere/x.json -f drift true", NULL, NULL), 0);
	assert_int_equal(o.n_sinks, 2);
	assert_int_equal(o.sinks[1].format, REPORT_JSON);
	assert_string_equal(o.sinks[1].path, "/nowhere/x.json");
	assert_int_equal(o.sinks[1].fd, -1);
	assert_int_equal(o.fail_on, FAIL_ON_DRIFT);
}

static void several_words_of_fail_on_add_up(void **state)
{
	_cleanup_options_ struct options o, more;

	(void)state;
	assert_int_equal(parse(&o, "-f broken,drift true", NULL, NULL), 0);
	assert_int_equal(o.fail_on, FAIL_ON_BROKEN | FAIL_ON_DRIFT);
	assert_int_equal(parse(&more, "-f inconclusive -f broken true", NULL, NULL), 0);
	assert_int_equal(more.fail_on, FAIL_ON_BROKEN | FAIL_ON_INCONCLUSIVE);
}

static void what_cannot_be_meant_is_refused(void **state)
{
	static const struct {
		const char *line, *says;
	} cases[] = {
		{ "", "there is no command to run" },
		{ "-f drift,x true", "--fail-on \"x\": it takes broken, inconclusive or drift" },
		{ "-f drift, true", "--fail-on \"\": it takes" },
		{ "--hold-trace true", "--hold-trace takes no command, but there is \"true\"" },
		{ "--hold-trace -c 1", "-c does not go with --hold-trace" },
		{ "--hold-trace -r json", "-r does not go with --hold-trace" },
		{ "--hold-trace --status", "contradict each other" },
		{ "-c 1", "there is no command to run" },
		{ "-c 1 --", "there is no command to run" },
		{ "-c", "-c needs a value: --cpus LIST" },
		{ "--cpus", "-c needs a value" },
		{ "--cpus= true", "-c needs a value" },
		{ "--root", "--root needs a value" },
		{ "-x true", "there is no option \"-x\"" },
		{ "-vx true", "there is no option \"-x\"" },
		{ "-P=thread true", "there is no option \"-=\"; a value of -P is written "
		                    "--probe=\"thread\"" },
		{ "-vPthread true", "a value of -P is written --probe=\"thread\"" },
		{ "-n=sh", "a value of -n is written --dry-run=\"sh\"" },
		{ "--quiet true", "there is no option \"--quiet\"" },
		{ "--quiese x true", "did you mean --quiesce?" },
		{ "--pro x true", "could be --profile or another" },
		{ "--activate=yes true", "--activate takes no value" },
		{ "-q true", "-q: task_isolation.quiesce cannot be \"true\"" },
		{ "-q nothing true", "cannot be \"nothing\"; it takes vmstat_sync or none" },
		{ "-q vmstat_sync,x true", "cannot be \"x\"" },
		{ "-q , true", "cannot be \"\"" },
		{ "-q vmstat-sync true", "did you mean \"vmstat_sync\"?" },
		{ "-I x true", "cannot be \"x\"; it takes conf, active or none" },
		{ "-I my.ini true", "did you mean --profile (-p)?" },
		{ "-I ./conf true", "did you mean --profile (-p)?" },
		{ "-s x true", "SECTION.KEY=VALUE" },
		{ "-s irq=yes true", "SECTION.KEY=VALUE" },
		{ "-s .=yes true", "there is no section \"\"" },
		{ "-s irq.=yes true", "there is no key \"\" in [irq]" },
		{ "-s irk.threads=yes true", "did you mean [irq]?" },
		{ "-s irq.thread=yes true", "did you mean \"threads\"?" },
		{ "-s irq.partition=root true", "it belongs to [cgroup]" },
		{ "-s power.governor=x true", "[power] is not supported by this version" },
		{ "-s irq.threads=ja true",
		  "irq.threads cannot be \"ja\"; it takes yes, no or auto" },
		{ "-s vmstat.stat_interval=0 true", "statistics without pause" },
		{ "-s vmstat.stat_interval=-1 true", "it takes 1 to 2147483" },
		{ "-s vmstat.stat_interval=99999999999999999999 true", "1 to 2147483" },
		{ "-s vmstat.stat_interval=1s true", "cannot be \"1s\"" },
		{ "-s task_isolation.prctl_base=62 true", "something else in every kernel" },
		{ "-s task_isolation.activate=maybe true", "it takes yes or no" },
		{ "-s cgroup.partition=isolate true", "did you mean \"isolated\"?" },
		{ "-c 1 -s cpus.workload=2 true", "-c and --set cpus.workload contradict" },
		{ "--check --status", "--check and --status contradict each other" },
		{ "-n -R", "--dry-run and --restore contradict each other" },
		{ "--dry-run=xml", "it takes text, json or sh" },
		{ "--status ls", "--status takes no command, but there is \"ls\"" },
		{ "-i -c 1", "-c does not go with --info" },
		{ "-R -p oslat", "-p does not go with --restore" },
		{ "--status -r json:x", "--status prints one report on standard output" },
		{ "-n -r json", "-r does not go with --dry-run" },
		{ "-C -f drift", "-f does not go with --check" },
		{ "-C -r json:x", "no FILE" },
		{ "-C -r json -r text", "one report on standard output" },
		{ "--root /tmp true", "a command runs on the live machine" },
		{ "--status --root /tmp", "--root does not go with --status" },
		{ "-r xml true", "'xml'" },
		{ "-r json: true", "no file name" },
		{ "-C -r oslat-json", "--check prints one report" },
		{ "-f x true", "it takes broken, inconclusive or drift" },
		{ "--probe=x true", "it takes auto, watch or thread" },
		{ "-C -r jsonl", "--check prints one report" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_options_ struct options o;
		_cleanup_error_ struct error err = ERROR_INIT;
		bool usage = false;

		if (parse(&o, cases[i].line, &usage, &err) != -EINVAL)
			fail_msg("%s: not refused: %s", cases[i].line, err.text);
		if (!strstr(err.text, cases[i].says))
			fail_msg("%s: said: %s", cases[i].line, err.text);
		assert_true(usage);
	}
}

static void a_value_without_its_equals_sign_is_not_run_as_the_command(void **state)
{
	static const struct {
		const char *line, *says;
	} cases[] = {
		{ "--probe thread ./app", "did you mean --probe=thread?" },
		{ "-vP watch ./app", "did you mean --probe=watch?" },
		{ "-C -c 1 -P auto ./app", "did you mean --probe=auto?" },
		{ "--dry-run json ./app", "did you mean --dry-run=json?" },
		{ "-n sh ./app", "did you mean --dry-run=sh?" },
		/* These are commands, whether there are such or not. */
		{ "-P -- thread ./app", NULL },
		{ "--probe=thread thread", NULL },
		{ "-P -c 1 thread", NULL },
		{ "-P threads", NULL },
		{ "-n ./sh", NULL },
	};
	_cleanup_free_ char *path = xstrdup(getenv("PATH"));
	_cleanup_options_ struct options found;

	(void)state;
	setenv("PATH", "/nonexistent", 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_options_ struct options o;
		_cleanup_error_ struct error err = ERROR_INIT;
		bool usage = false;
		int rc = parse(&o, cases[i].line, &usage, &err);

		if (rc != (cases[i].says ? -EINVAL : 0))
			fail_msg("%s: %d %s", cases[i].line, rc, err.text);
		if (cases[i].says && !strstr(err.text, cases[i].says))
			fail_msg("%s: said: %s", cases[i].line, err.text);
	}
	setenv("PATH", "/bin:/usr/bin", 1);
	assert_int_equal(parse(&found, "-n sh ./app", NULL, NULL), 0);
	assert_string_equal(found.req.argv[0], "sh");
	setenv("PATH", path, 1);
}

static void a_missing_profile_is_not_a_usage_error(void **state)
{
	_cleanup_options_ struct options o;
	_cleanup_error_ struct error err = ERROR_INIT;
	bool usage = true;

	(void)state;
	assert_int_equal(parse(&o, "-p no-such-profile true", &usage, &err), -ENOENT);
	assert_false(usage);
	assert_non_null(strstr(err.text, "there is no profile \"no-such-profile\". Looked in: "));
}

static void help_is_readable_in_100_columns(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	options_print_help(out);
	fclose(out);
	assert_non_null(strstr(text, " -c, --cpus LIST"));
	assert_non_null(strstr(text, " -P, --probe[=MODE]"));
	for (char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_in_range(strcspn(line, "\n"), 0, 100);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_action_is_understood),
		cmocka_unit_test(the_commands_own_options_are_left_alone),
		cmocka_unit_test(options_reach_the_request_and_say_who_asked),
		cmocka_unit_test(a_repeated_option_overrides_and_a_repeated_word_list_adds),
		cmocka_unit_test(reports_are_collected_and_not_opened),
		cmocka_unit_test(several_words_of_fail_on_add_up),
		cmocka_unit_test(what_cannot_be_meant_is_refused),
		cmocka_unit_test(a_value_without_its_equals_sign_is_not_run_as_the_command),
		cmocka_unit_test(a_missing_profile_is_not_a_usage_error),
		cmocka_unit_test(help_is_readable_in_100_columns),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
