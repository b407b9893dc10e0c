/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <locale.h>
#include <sys/stat.h>

#include "../../chisol/escape.h"
#include "../../chisol/report.h"
#include "../../isolcore/facility.h"

/* A run that never was, on CPUs 2-3 of 0-3. */
struct fixture {
	struct system sys;
	struct request req;
	struct plan plan;
	struct launch_result result;
	struct run_report report;
};

static const struct facility irq = { .name = "irq" };
static const struct facility cgroup = { .name = "cgroup" };
static const struct facility vmstat = { .name = "vmstat" };
static char *argv[] = { "oslat", "-c", "2,3", "a b", "it's", "\x1b[2J", NULL };

static void fixture_init(struct fixture *f)
{
	struct machine *m = &f->sys.machine;

	*f = (struct fixture){ .sys = { .root = { .fd = -1 } } };
	m->release = xstrdup("6.1.0-test");
	m->arch = xstrdup("x86_64");
	m->hostname = xstrdup("box\x1b[31m");
	m->boot_id = xstrdup("b007");
	m->cmdline = xstrdup("");
	cpumask_set_range(&m->possible, 0, 3);
	cpumask_copy(&m->present, &m->possible);
	cpumask_copy(&m->online, &m->possible);
	cpumask_set_range(&f->req.cpus.workload, 2, 3);
	cpumask_set_range(&f->req.cpus.housekeeping, 0, 1);
	f->req.argv = argv;
	f->result = (struct launch_result){
		.started = true,
		.began = { 1764504000, 123456789 },
		.ended = { 1764504005, 0 },
		.elapsed_ns = 4876543211,
	};
	f->report = (struct run_report){
		.sys = &f->sys,
		.req = &f->req,
		.plan = &f->plan,
		.result = &f->result,
		.run_id = "1-2",
	};
}

static void fixture_free(struct fixture *f)
{
	cpumask_free(&f->req.cpus.workload);
	cpumask_free(&f->req.cpus.housekeeping);
	plan_free(&f->plan);
	system_close(&f->sys);
}
#define _cleanup_fixture_ _cleanup_(fixture_free)

static struct knob *add_knob(struct fixture *f, const char *name, const char *found,
                             const char *wanted)
{
	_cleanup_free_ char *path = xasprintf("/x/%s", name);

	return plan_add(&f->plan, &irq, &knob_text_file, POLICY_TRY, name, path, found, wanted,
	                "keeps it away");
}

static void judge(struct knob *knob, enum knob_state state, const char *reason, const char *granted)
{
	knob_judge(knob, state, reason, NULL);
	xreplace(&knob->granted, granted);
}

typedef void render_fn(FILE *out, const struct fixture *f);

static void text(FILE *out, const struct fixture *f)
{
	report_text(out, &f->report);
}

static void json(FILE *out, const struct fixture *f)
{
	report_json(out, &f->report);
}

static void plan_text(FILE *out, const struct fixture *f)
{
	assert_int_equal(dry_run_print(DRY_RUN_TEXT, &f->sys, &f->req, &f->plan, out, NULL), 0);
}

static void plan_json(FILE *out, const struct fixture *f)
{
	assert_int_equal(dry_run_print(DRY_RUN_JSON, &f->sys, &f->req, &f->plan, out, NULL), 0);
}

static void plan_sh(FILE *out, const struct fixture *f)
{
	assert_int_equal(dry_run_print(DRY_RUN_SH, &f->sys, &f->req, &f->plan, out, NULL), 0);
}

static char *render(render_fn *fn, const struct fixture *f)
{
	char *printed = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&printed, &len);

	assert_non_null(out);
	fn(out, f);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(printed), len);
	return printed;
}

static json_t *load(render_fn *fn, const struct fixture *f)
{
	_cleanup_free_ char *printed = render(fn, f);
	json_error_t error;
	json_t *document = json_loads(printed, JSON_REJECT_DUPLICATES, &error);

	if (!document)
		fail_msg("%s in:\n%s", error.text, printed);
	return document;
}

static void assert_has(const char *printed, const char *part)
{
	if (!strstr(printed, part))
		fail_msg("\"%s\" is not in:\n%s", part, printed);
}

static void assert_has_not(const char *printed, const char *part)
{
	if (strstr(printed, part))
		fail_msg("\"%s\" is in:\n%s", part, printed);
}

static void assert_fits_a_terminal(const char *printed)
{
	for (const char *line = printed; *line; line += strcspn(line, "\n") + 1) {
		if (strcspn(line, "\n") > 100)
			fail_msg("longer than 100 columns: %.*s", (int)strcspn(line, "\n"), line);
		for (const char *c = line; *c != '\n'; c++)
			if ((unsigned char)*c < 0x20 || *c == 0x7f)
				fail_msg("a control character in: %.*s", (int)strcspn(line, "\n"),
				         line);
	}
}

static void assert_word(json_t *object, const char *key, const char *word)
{
	const char *value = json_string_value(json_object_get(object, key));

	if (!value || strcmp(value, word) != 0)
		fail_msg("%s is %s, not %s", key, value ? value : "(not a string)", word);
}

static void what_is_as_asked_is_only_counted(void **state)
{
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *brief = NULL, *verbose = NULL;

	(void)state;
	fixture_init(&f);
	judge(add_knob(&f, "irq.24.affinity", "3", "1"), KNOB_GRANTED, REASON_GRANTED, "1");
	brief = render(text, &f);
	assert_has(brief, "settings kept: 1 asked, 1 granted\n");
	assert_has_not(brief, "irq.24");
	assert_has(
		brief,
		"  outcome       exited with status 0 after 4.877 s, started 2025-11-30T12:00:00.123Z");
	f.report.verbose = true;
	verbose = render(text, &f);
	assert_has(verbose, "granted       irq.24.affinity: asked 1, found 3, granted 1");
}

static void a_very_long_command_is_cut_in_the_text_and_whole_in_the_json(void **state)
{
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *word = xcalloc(1, 5001), *printed = NULL, *whole = NULL;
	char app[] = "app", *long_argv[] = { app, word, NULL };

	(void)state;
	fixture_init(&f);
	memset(word, 'x', 5000);
	f.req.argv = long_argv;
	printed = render(text, &f);
	assert_has(printed, " ...\n");
	assert_true(strlen(printed) < 2500);
	whole = render(json, &f);
	assert_has(whole, word);
}

static void what_is_not_as_asked_is_named_with_values_reason_and_remedy(void **state)
{
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *printed = NULL;
	struct knob *knob;

	(void)state;
	fixture_init(&f);
	knob = add_knob(&f, "irq.24.affinity", "3", "1");
	judge(knob, KNOB_REFUSED, REASON_NO_VECTOR, "3");
	knob->remedy = xstrdup("give housekeeping more CPUs");
	knob = add_knob(&f, "vmstat.stat_interval", "1", "3600");
	judge(knob, KNOB_GRANTED, REASON_GRANTED, "3600");
	knob->observed_state = OBSERVED_DRIFTED;
	knob->observed = xstrdup("2");
	judge(add_knob(&f, "a.b", NULL, "1"), KNOB_UNAVAILABLE, REASON_ABSENT, NULL);
	printed = render(text, &f);
	assert_has(printed, "settings drifted: 3 asked, 1 granted, 1 refused, 1 unavailable, "
	                    "1 drifted");
	assert_has(printed, "  refused       irq.24.affinity: asked 1, found 3, granted 3: the "
	                    "remaining CPUs have no free\n");
	assert_has(printed, "                -> give housekeeping more CPUs\n");
	assert_has(printed, "  drifted       vmstat.stat_interval: asked 3600, found 1, granted "
	                    "3600, observed 2");
	assert_has(printed, "  unavailable   a.b: asked 1: this kernel or machine does not have it "
	                    "[absent]");
	assert_fits_a_terminal(printed);
}

static void an_interrupt_that_appeared_is_drift(void **state)
{
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *printed = NULL;

	(void)state;
	fixture_init(&f);
	judge(add_knob(&f, "irq.50.affinity", "3", NULL), KNOB_EXPOSED, REASON_NEW_IRQ, NULL);
	printed = render(text, &f);
	assert_has(printed, "settings drifted: 1 asked, 1 exposed, 1 drifted\n");
	assert_has(printed, "  exposed       irq.50.affinity: found 3: ");
}

static void twelve_managed_irqs_are_one_line(void **state)
{
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *printed = NULL, *verbose = NULL;

	(void)state;
	fixture_init(&f);
	for (int i = 30; i < 42; i++) {
		_cleanup_free_ char *name = xasprintf("irq.%d.affinity", i);

		judge(add_knob(&f, name, "3", NULL), KNOB_EXPOSED, REASON_MANAGED_IRQ, NULL);
	}
	judge(add_knob(&f, "irq.8.affinity", "3", NULL), KNOB_EXPOSED, REASON_PER_CPU_IRQ, NULL);
	printed = render(text, &f);
	assert_has(printed, "  exposed       irq.{30-41}.affinity (12): found 3: the kernel");
	assert_has(printed, "  exposed       irq.8.affinity: ");
	assert_has_not(printed, "irq.31");
	f.report.verbose = true;
	verbose = render(text, &f);
	assert_has(verbose, "irq.31.affinity: found 3");
}

static void values_that_differ_within_a_group_are_not_told_as_one(void **state)
{
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *printed = NULL;

	(void)state;
	fixture_init(&f);
	judge(add_knob(&f, "irq.30.affinity", "2", NULL), KNOB_EXPOSED, REASON_MANAGED_IRQ, NULL);
	judge(add_knob(&f, "irq.31.affinity", "3", NULL), KNOB_EXPOSED, REASON_MANAGED_IRQ, NULL);
	judge(add_knob(&f, "irq.32.affinity", "2", NULL), KNOB_EXPOSED, REASON_MANAGED_IRQ, NULL);
	printed = render(text, &f);
	assert_has(printed, "irq.{30-32}.affinity (3): the kernel");
}

static void the_way_of_vmstat_quiescing_is_always_told(void **state)
{
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *none = NULL, *stand_in = NULL, *placement = NULL;

	(void)state;
	fixture_init(&f);
	f.req.task_isolation.quiesce = QUIESCE_VMSTAT_SYNC;
	none = render(text, &f);
	assert_has(none, "  vmstat        not quiesced: ");
	judge(add_knob(&f, "task_isolation.quiesce", NULL, "vmstat_sync"), KNOB_GRANTED,
	      REASON_BY_STAND_IN, NULL);
	stand_in = render(text, &f);
	assert_has(stand_in, "  by-stand-in   task_isolation.quiesce: asked vmstat_sync");
	assert_has_not(stand_in, "not quiesced");
	plan_free(&f.plan);
	plan_note(&f.plan, &vmstat, REASON_BY_PLACEMENT, "the worker stays on CPU 0");
	placement = render(text, &f);
	assert_has(placement, "  by-placement  the worker stays on CPU 0");
	assert_has_not(placement, "not quiesced");
}

static void what_was_not_put_back_is_named_with_its_values(void **state)
{
	static const struct {
		enum knob_restored restored;
		const char *line;
	} cases[] = {
		{ RESTORE_FOREIGN, "  left alone    k.0: was 1, set to 2: now 7 [foreign-change]" },
		{ RESTORE_HANDED_OVER,
		  "  handed over   k.1: was 1, set to 2: now 7 [handed-over]" },
		{ RESTORE_FAILED, "  left over     k.2: was 1, set to 2: now 7 [restore-failed]" },
	};
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *printed = NULL;

	(void)state;
	fixture_init(&f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *name = xasprintf("k.%zu", i);
		struct knob *knob = add_knob(&f, name, "1", "2");

		judge(knob, KNOB_GRANTED, REASON_GRANTED, "2");
		knob->restored = cases[i].restored;
		knob->restore_detail = xstrdup("now 7");
	}
	printed = render(text, &f);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_has(printed, cases[i].line);
	assert_has(printed, "chisol --restore");
}

static void fill_interrupts(struct interrupt_table *table, unsigned int n_cpus)
{
	static const struct {
		enum interrupt_kind kind;
		const char *id, *name;
		unsigned long long each;
	} rows[] = {
		{ INTERRUPT_DEVICE, "24", "virtio1\x1b-req.0", 2 },
		{ INTERRUPT_DEVICE, "25", "never", 0 },
		{ INTERRUPT_ARCH, "LOC", "Local timer interrupts", 100 },
		{ INTERRUPT_SOFTIRQ, "TIMER", "", 5 },
	};

	*table = (struct interrupt_table)INTERRUPT_TABLE_INIT;
	cpumask_set_range(&table->cpus, 2, 1 + n_cpus);
	table->rows = xcalloc(ARRAY_SIZE(rows), sizeof(*table->rows));
	table->n_rows = table->room = ARRAY_SIZE(rows);
	for (size_t i = 0; i < table->n_rows; i++) {
		table->rows[i].kind = rows[i].kind;
		table->rows[i].id = xstrdup(rows[i].id);
		table->rows[i].name = xstrdup(rows[i].name);
		table->rows[i].counts = xcalloc(n_cpus, sizeof(*table->rows[i].counts));
		for (unsigned int cpu = 0; cpu < n_cpus; cpu++)
			table->rows[i].counts[cpu] = cpu ? rows[i].each : 0;
	}
}

/* interrupts.h's own free belongs to another part. */
static void empty_interrupts(struct interrupt_table *table)
{
	for (size_t i = 0; i < table->n_rows; i++) {
		free(table->rows[i].id);
		free(table->rows[i].name);
		free(table->rows[i].counts);
	}
	free(table->rows);
	cpumask_free(&table->cpus);
}

static void interrupts_are_sorted_and_zero_rows_are_dropped(void **state)
{
	_cleanup_(empty_interrupts) struct interrupt_table table;
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *printed = NULL;

	(void)state;
	fixture_init(&f);
	fill_interrupts(&table, 2);
	f.report.interrupts = &table;
	printed = render(text, &f);
	assert_has(printed, "                   CPU 2     CPU 3\n"
	                    "  LOC                  0       100  Local timer interrupts\n"
	                    "  TIMER                0         5  softirq\n"
	                    "  24                   0         2  virtio1\\x1b-req.0\n");
	assert_has_not(printed, "never");
	assert_fits_a_terminal(printed);
}

static void interrupts_of_many_cpus_are_summed_up(void **state)
{
	_cleanup_(empty_interrupts) struct interrupt_table table;
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *printed = NULL;

	(void)state;
	fixture_init(&f);
	fill_interrupts(&table, 200);
	f.report.interrupts = &table;
	printed = render(text, &f);
	assert_has(printed, "  LOC              19900       199       100  on CPU 3      Local");
	assert_fits_a_terminal(printed);
}

static void a_report_in_json_has_every_word_of_every_setting(void **state)
{
	static const char *const keys[] = { "name",   "facility", "path",    "policy",   "why",
		                            "asked",  "found",    "granted", "observed", "restored",
		                            "reason", "detail",   "remedy" };
	_cleanup_(empty_interrupts) struct interrupt_table table;
	_cleanup_fixture_ struct fixture f;
	json_t *document, *settings, *row;

	(void)state;
	fixture_init(&f);
	fill_interrupts(&table, 2);
	f.report.interrupts = &table;
	for (int i = KNOB_PLANNED; i <= KNOB_UNAVAILABLE; i++) {
		_cleanup_free_ char *name = xasprintf("k.%d", i);

		judge(add_knob(&f, name, i % 2 ? "1" : NULL, "2"), (enum knob_state)i,
		      REASON_IO_ERROR, i % 2 ? "2" : NULL);
	}
	document = load(json, &f);
	assert_int_equal(json_integer_value(json_object_get(document, "chisol_report")), 1);
	settings = json_object_get(document, "settings");
	assert_int_equal(json_array_size(settings), KNOB_UNAVAILABLE + 1);
	for (size_t i = 0; i < json_array_size(settings); i++)
		for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
			assert_non_null(json_object_get(json_array_get(settings, i), keys[k]));
	assert_word(json_object_get(json_array_get(settings, KNOB_REFUSED), "granted"), "state",
	            "refused");
	assert_word(json_object_get(document, "verdict"), "settings", "not-granted");
	assert_word(json_object_get(document, "times"), "began", "2025-11-30T12:00:00.123Z");
	row = json_array_get(json_object_get(json_object_get(document, "interrupts"), "rows"), 1);
	assert_word(row, "id", "LOC");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(row, "counts"), "3")),
	                 100);
	json_decref(document);
}

static void a_command_that_was_killed_or_never_started_is_told_apart(void **state)
{
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *killed = NULL, *failed = NULL;
	const struct interrupt_table uncounted = INTERRUPT_TABLE_INIT;
	json_t *document;

	(void)state;
	fixture_init(&f);
	f.result.wait_status = 9;
	killed = render(text, &f);
	assert_has(killed, "killed by signal 9 (SIGKILL) after");
	document = load(json, &f);
	assert_word(json_object_get(document, "exit"), "kind", "killed");
	json_decref(document);
	f.result.started = false;
	f.report.interrupts = &uncounted;
	f.report.failure = "cannot set the cow: no\nmilk";
	failed = render(text, &f);
	assert_has(failed, "  failed        cannot set the cow: no\\nmilk\n");
	assert_has(failed, "not started");
	assert_has_not(failed, "interrupts");
	document = load(json, &f);
	assert_word(json_object_get(document, "exit"), "kind", "not-started");
	assert_word(document, "failure", "cannot set the cow: no\nmilk");
	assert_true(json_is_null(json_object_get(document, "interrupts")));
	json_decref(document);
}

static void hostile_bytes_neither_reach_a_terminal_nor_break_json(void **state)
{
	static char *hostile[] = { "a\xff\\b", "\x1b]0;x\a", "plain\\x", NULL };
	static render_fn *const texts[] = { text, plan_text, plan_sh };
	static render_fn *const documents[] = { json, plan_json };
	_cleanup_fixture_ struct fixture f;
	struct knob *knob;

	(void)state;
	fixture_init(&f);
	knob = add_knob(&f, "irq.\x1b[2J\n.affinity", "\x9b", "\x07");
	judge(knob, KNOB_REFUSED, REASON_IO_ERROR, "\xc3\x28");
	knob->remedy = xstrdup("\x1b");
	plan_note(&f.plan, &irq, REASON_ABSENT, "no\x1b");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_free_ char *printed = render(texts[i], &f);

		/* The command of a script is quoted, not escaped. */
		for (const char *c = printed; *c; c++)
			if ((unsigned char)*c < 0x20 && *c != '\n' && texts[i] != plan_sh)
				fail_msg("control character %d in:\n%s", *c, printed);
		assert_has(printed, "irq.\\x1b[2J\\n.affinity");
	}
	f.req.argv = hostile;
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		json_t *document = load(documents[i], &f);
		json_t *command = json_object_get(document, "command");
		json_t *words = json_object_get(command, "argv");

		assert_true(json_is_true(json_object_get(command, "argv_escaped")));
		assert_string_equal(json_string_value(json_array_get(words, 0)), "a\\xff\\\\b");
		assert_string_equal(json_string_value(json_array_get(words, 1)), "\x1b]0;x\a");
		assert_string_equal(json_string_value(json_array_get(words, 2)), "plain\\x");
		json_decref(document);
	}
}

static void settings_that_are_refused_for_one_reason_are_told_of_together(void **state)
{
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *brief = NULL, *verbose = NULL;
	static const char *const names[] = { "irq.24.affinity", "irq.25.affinity", "cgroup.run",
		                             "vmstat.stat_interval" };

	(void)state;
	fixture_init(&f);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		knob_judge(add_knob(&f, names[i], "3", "1"), KNOB_REFUSED, REASON_NOT_PERMITTED,
		           i < 3 ? "no root" : "another");
	brief = render(text, &f);
	assert_has(brief, "  refused       irq.{24-25}.affinity (2), cgroup.run: no root "
	                  "[not-permitted]\n");
	assert_has(brief, "  refused       vmstat.stat_interval: asked 1, found 3: another "
	                  "[not-permitted]\n");
	f.report.verbose = true;
	verbose = render(text, &f);
	assert_has(verbose, "  refused       irq.25.affinity: asked 1, found 3: no root");
	assert_has(verbose, "  refused       cgroup.run: asked 1, found 3: no root");
}

static void text_is_escaped_as_the_locale_needs_it(void **state)
{
	static const struct {
		const char *raw, *utf8, *c;
	} rows[] = {
		{ "plain", "plain", "plain" },
		{ "caf\xc3\xa9", "caf\xc3\xa9", "caf\\xc3\\xa9" },
		{ "\xe2\x80\x8b", "\\xe2\\x80\\x8b", "\\xe2\\x80\\x8b" }, /* no width */
		{ "\xc2\x9b"
		  "2J",
		  "\\xc2\\x9b"
		  "2J",
		  "\\xc2\\x9b"
		  "2J" }, /* C1 control */
		{ "a\xc3", "a\\xc3", "a\\xc3" },
		{ "\r\n\t\x7f", "\\r\\n\\t\\x7f", "\\r\\n\\t\\x7f" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *utf8 = escape_text(rows[i].raw), *c = NULL;

		assert_string_equal(utf8, rows[i].utf8);
		setenv("LC_ALL", "C", 1);
		setlocale(LC_CTYPE, "C");
		c = escape_text(rows[i].raw);
		setenv("LC_ALL", "C.UTF-8", 1);
		assert_string_equal(c, rows[i].c);
	}
}

static void a_plan_names_path_found_wanted_and_why(void **state)
{
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *printed = NULL;

	(void)state;
	fixture_init(&f);
	add_knob(&f, "irq.24.affinity", "3", "1");
	judge(add_knob(&f, "irq.30.affinity", "2", NULL), KNOB_EXPOSED, REASON_MANAGED_IRQ, NULL);
	add_knob(&f, "irq.31.affinity", NULL, "1");
	printed = render(plan_text, &f);
	assert_has(printed, "   1. irq.24.affinity: /x/irq.24.affinity: 3 -> 1 (keeps it away; "
	                    "try)\n");
	assert_has(printed,
	           "   -  irq.30.affinity: /x/irq.30.affinity: 2 (keeps it away; try): exposed: ");
	assert_has(printed, "   2. irq.31.affinity: /x/irq.31.affinity: (none) -> 1");
	assert_has(printed, "Then: oslat -c 2,3 'a b' 'it'\\''s' '\\x1b[2J'\n");
}

static void shell_exec(FILE *out, const struct task_setting *t)
{
	fprintf(out, "taskset -pc %s $$\n", t->wanted);
}

static void a_script_writes_guards_what_is_tried_and_execs(void **state)
{
	static const struct task_op can = { .stage = TASK_STAGE_AFFINITY, .shell = shell_exec };
	static const struct task_op cannot = { .stage = TASK_STAGE_ISOLATION };
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *script = NULL;

	(void)state;
	fixture_init(&f);
	add_knob(&f, "it's.24", "3", "1'; reboot; '");
	add_knob(&f, "b", "3", "4")->policy = POLICY_REQUIRE;
	plan_add_task(&f.plan, &irq, &can, POLICY_REQUIRE, "cpus.affinity", "2-3", "there");
	plan_add_task(&f.plan, &irq, &cannot, POLICY_TRY, "task_isolation.quiesce", "x\ny", "q");
	script = render(plan_sh, &f);
	assert_has(script,
	           "{\nprintf '%s\\n' '1'\\''; reboot; '\\''' > '/x/it'\\''s.24'\n} || echo "
	           "'not granted: it'\\''s.24' >&2\n");
	assert_has(script, "\nprintf '%s\\n' '4' > '/x/b'\n");
	assert_has(script, "\ntaskset -pc 2-3 $$\n");
	assert_has(script, "#   left out: sh cannot set x\\ny\n");
	assert_has(script, "export CHISOL_CPUS='2-3'\n");
	assert_has(script, "\nexec 'oslat' '-c' '2,3' 'a b' 'it'\\''s' ");
}

static int check(const struct fixture *f, enum report_format format, char **printed)
{
	size_t len = 0;
	FILE *out = open_memstream(printed, &len);
	int rc = check_print(format, &f->sys, &f->req, &f->plan, out, NULL);

	fclose(out);
	return rc;
}

static void a_check_tells_what_differs_and_what_could_not_be_read(void **state)
{
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *good = NULL, *unread = NULL, *bad = NULL, *doc = NULL;
	struct knob *knob;
	json_t *document;

	(void)state;
	fixture_init(&f);
	add_knob(&f, "same", "1", "1");
	judge(add_knob(&f, "irq.30.affinity", "2", NULL), KNOB_EXPOSED, REASON_MANAGED_IRQ, NULL);
	judge(add_knob(&f, "irq.31.affinity", "3", NULL), KNOB_EXPOSED, REASON_MANAGED_IRQ, NULL);
	add_knob(&f, "fresh", "0", "1")->fresh = true;
	plan_add(&f.plan, &cgroup, &knob_text_file, POLICY_REQUIRE, "cgroup.run", "/cg/chisol-1",
	         NULL, "group", "a place");
	assert_int_equal(check(&f, REPORT_TEXT, &good), 0);
	assert_has(good, "irq.{30-31}.affinity (2): exposed: ");
	assert_has(good, "as-asked: ");
	knob_judge(add_knob(&f, "dark", NULL, "1"), KNOB_REFUSED, REASON_UNREADABLE, "no light");
	assert_int_equal(check(&f, REPORT_TEXT, &unread), EXIT_CHISOL);
	assert_has(unread, "dark: unreadable (/x/dark): no light\n");
	knob = add_knob(&f, "wrong", "1", "2");
	knob->remedy = xstrdup("set it");
	assert_int_equal(check(&f, REPORT_TEXT, &bad), 1);
	assert_has(bad, "wrong: is 1, should be 2 (/x/wrong) -> set it\n");
	assert_int_equal(check(&f, REPORT_JSON, &doc), 1);
	document = json_loads(doc, 0, NULL);
	assert_non_null(document);
	assert_word(document, "verdict", "not-as-asked");
	assert_int_equal(json_array_size(json_object_get(document, "findings")), 4);
	json_decref(document);
}

static void a_leading_zero_is_no_finding(void **state)
{
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *printed = NULL;

	(void)state;
	fixture_init(&f);
	plan_add(&f.plan, &irq, &knob_cpuhex_file, POLICY_TRY, "irq.1.affinity", "/x", "00000003",
	         "3", "it");
	assert_int_equal(check(&f, REPORT_TEXT, &printed), 0);
}

static void sinks_are_format_and_file(void **state)
{
	static const char *const bad[] = { "", "xml", "json:", "jso", "json2", ":" };
	struct report_sink sink;

	(void)state;
	assert_int_equal(report_sink_parse(&sink, "json:a:b", NULL), 0);
	assert_int_equal(sink.format, REPORT_JSON);
	assert_string_equal(sink.path, "a:b");
	report_sink_close(&sink);
	assert_int_equal(report_sink_parse(&sink, "text", NULL), 0);
	assert_null(sink.path);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_error_ struct error err = ERROR_INIT;

		assert_int_equal(report_sink_parse(&sink, bad[i], &err), -EINVAL);
		assert_has(err.text, bad[i]);
	}
}

static char *slurp(const char *path)
{
	char *content = NULL;
	size_t room = 0;
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	if (getdelim(&content, &room, '\0', in) < 0)
		content[0] = '\0';
	fclose(in);
	return content;
}

static void spit(const char *path, const char *content)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(content, out);
	assert_int_equal(fclose(out), 0);
}

static int open_sink(struct report_sink *sink, const char *dir, const char *name, struct error *err)
{
	_cleanup_free_ char *spec = xasprintf("json:%s/%s", dir, name);

	assert_int_equal(report_sink_parse(sink, spec, NULL), 0);
	return report_sink_open(sink, err);
}

static void an_old_report_stays_until_there_is_a_new_one(void **state)
{
	const char *dir = *state;
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *path = xasprintf("%s/r", dir), *before = NULL, *after = NULL;
	struct report_sink sink, second;
	json_t *document;

	fixture_init(&f);
	after = render(json, &f);
	free(after);
	after = xasprintf("%0*d", 9999, 0);
	spit(path, after);
	free(after);
	assert_int_equal(open_sink(&sink, dir, "r", NULL), 0);
	before = slurp(path);
	assert_int_equal(strlen(before), 9999);
	assert_int_equal(open_sink(&second, dir, "r", NULL), -EBUSY);
	report_sink_close(&second);
	assert_int_equal(report_write(&sink, &f.report, NULL), 0);
	report_sink_close(&sink);
	after = slurp(path);
	document = json_loads(after, 0, NULL);
	assert_non_null(document);
	json_decref(document);
}

static void planted_links_are_not_followed(void **state)
{
	const char *dir = *state;
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_free_ char *victim = xasprintf("%s/victim", dir),
			    *open_dir = xasprintf("%s/o", dir);
	_cleanup_free_ char *link_path = xasprintf("%s/link", open_dir);
	_cleanup_free_ char *hard = xasprintf("%s/hard", open_dir), *content = NULL;
	_cleanup_free_ char *own = xasprintf("%s/link", dir);
	struct report_sink sink;

	spit(victim, "precious");
	assert_int_equal(mkdir(open_dir, 0700), 0);
	assert_int_equal(chmod(open_dir, 01777), 0);
	assert_int_equal(symlink(victim, link_path), 0);
	assert_int_equal(link(victim, hard), 0);
	assert_int_equal(symlink(victim, own), 0);
	assert_int_equal(open_sink(&sink, open_dir, "link", &err), -ELOOP);
	assert_has(err.text, link_path);
	report_sink_close(&sink);
	assert_int_equal(open_sink(&sink, open_dir, "hard", &err), -EACCES);
	report_sink_close(&sink);
	assert_int_equal(open_sink(&sink, open_dir, "mine", &err), 0);
	report_sink_close(&sink);
	/* to the members of another group it is open as well */
	assert_int_equal(chmod(open_dir, 0775), 0);
	if (!geteuid() && !chown(open_dir, 0, getegid() + 1)) {
		assert_int_equal(open_sink(&sink, open_dir, "link", &err), -ELOOP);
		report_sink_close(&sink);
	}
	/* in a directory of one's own a link is what one wants */
	assert_int_equal(open_sink(&sink, dir, "link", &err), 0);
	report_sink_close(&sink);
	content = slurp(victim);
	assert_string_equal(content, "precious");
}

/* A FIFO that is full, with this process as its reader. */
static int make_full_fifo(const char *path)
{
	static const char page[4096];
	int fd;

	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	while (write(fd, page, sizeof(page)) > 0)
		;
	return fd;
}

static void a_fifo_of_others_is_not_waited_for_without_end(void **state)
{
	const char *dir = *state;
	_cleanup_fixture_ struct fixture f;
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_free_ char *others = xasprintf("%s/others", dir), *own = xasprintf("%s/own", dir),
			    *fifo = xasprintf("%s/fifo", others);
	_cleanup_close_ int reader = -1, own_reader = -1;
	struct report_sink sink;

	fixture_init(&f);
	assert_int_equal(mkdir(others, 0700), 0);
	assert_int_equal(chmod(others, 01777), 0);
	reader = make_full_fifo(fifo);
	assert_int_equal(open_sink(&sink, others, "fifo", &err), 0);
	assert_in_range(sink.patience, 1, 3600000);
	sink.patience = 10;
	assert_int_equal(report_write(&sink, &f.report, &err), -ETIMEDOUT);
	assert_has(err.text, fifo);
	report_sink_close(&sink);
	own_reader = make_full_fifo(own);
	assert_int_equal(open_sink(&sink, dir, "own", &err), 0);
	assert_int_equal(sink.patience, 0);
	report_sink_close(&sink);
}

static void files_that_cannot_take_a_report_are_told(void **state)
{
	const char *dir = *state;
	_cleanup_fixture_ struct fixture f;
	_cleanup_error_ struct error err = ERROR_INIT;
	struct report_sink sink;
	int pipe_fds[2];

	fixture_init(&f);
	assert_int_equal(open_sink(&sink, dir, "no/r", &err), -ENOENT);
	report_sink_close(&sink);
	assert_int_equal(open_sink(&sink, dir, ".", &err), -EISDIR);
	report_sink_close(&sink);
	assert_int_equal(open_sink(&sink, "/dev", "full", &err), 0);
	assert_int_equal(report_write(&sink, &f.report, &err), -ENOSPC);
	report_sink_close(&sink);
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	close(pipe_fds[0]);
	sink = (struct report_sink){ .fd = pipe_fds[1] };
	assert_int_equal(report_write(&sink, &f.report, &err), -EPIPE);
	report_sink_close(&sink);
}

static void a_descriptor_is_written_where_it_stands(void **state)
{
	const char *dir = *state;
	_cleanup_fixture_ struct fixture f;
	_cleanup_free_ char *path = xasprintf("%s/fd", dir), *name = NULL, *content = NULL;
	struct report_sink sink;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	fixture_init(&f);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "before\n", 7), 7);
	name = xasprintf("%d", fd);
	assert_int_equal(open_sink(&sink, "/dev/fd", name, NULL), 0);
	assert_int_equal(report_write(&sink, &f.report, NULL), 0);
	report_sink_close(&sink);
	close(fd);
	content = slurp(path);
	assert_int_equal(strncmp(content, "before\n{\n", 9), 0);
}

static int make_dir(void **state)
{
	*state = mkdtemp(xstrdup("/tmp/chisol-report-XXXXXX"));
	return *state ? 0 : -1;
}

static int remove_dir(void **state)
{
	_cleanup_free_ char *dir = *state, *command = xasprintf("rm -rf '%s'", dir);

	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_as_asked_is_only_counted),
		cmocka_unit_test(a_very_long_command_is_cut_in_the_text_and_whole_in_the_json),
		cmocka_unit_test(what_is_not_as_asked_is_named_with_values_reason_and_remedy),
		cmocka_unit_test(an_interrupt_that_appeared_is_drift),
		cmocka_unit_test(twelve_managed_irqs_are_one_line),
		cmocka_unit_test(values_that_differ_within_a_group_are_not_told_as_one),
		cmocka_unit_test(the_way_of_vmstat_quiescing_is_always_told),
		cmocka_unit_test(what_was_not_put_back_is_named_with_its_values),
		cmocka_unit_test(interrupts_are_sorted_and_zero_rows_are_dropped),
		cmocka_unit_test(interrupts_of_many_cpus_are_summed_up),
		cmocka_unit_test(a_report_in_json_has_every_word_of_every_setting),
		cmocka_unit_test(a_command_that_was_killed_or_never_started_is_told_apart),
		cmocka_unit_test(hostile_bytes_neither_reach_a_terminal_nor_break_json),
		cmocka_unit_test(settings_that_are_refused_for_one_reason_are_told_of_together),
		cmocka_unit_test(text_is_escaped_as_the_locale_needs_it),
		cmocka_unit_test(a_plan_names_path_found_wanted_and_why),
		cmocka_unit_test(a_script_writes_guards_what_is_tried_and_execs),
		cmocka_unit_test(a_check_tells_what_differs_and_what_could_not_be_read),
		cmocka_unit_test(a_leading_zero_is_no_finding),
		cmocka_unit_test(sinks_are_format_and_file),
		cmocka_unit_test_setup_teardown(an_old_report_stays_until_there_is_a_new_one,
		                                make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(planted_links_are_not_followed, make_dir,
		                                remove_dir),
		cmocka_unit_test_setup_teardown(a_fifo_of_others_is_not_waited_for_without_end,
		                                make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(files_that_cannot_take_a_report_are_told, make_dir,
		                                remove_dir),
		cmocka_unit_test_setup_teardown(a_descriptor_is_written_where_it_stands, make_dir,
		                                remove_dir),
	};

	setenv("LC_ALL", "C.UTF-8", 1);
	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
