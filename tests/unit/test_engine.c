/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/wait.h>

#include "tree.h"

#include "../../isolcore/facility.h"
#include "../../isolcore/leftovers.h"
#include "../../isolcore/state.h"

static const struct tree_file machine_files[] = {
	{ "sys/devices/system/cpu/online", "0-3" },
	{ "proc/sys/kernel/random/boot_id", "a-boot" },
	{ "run/.keep", "" },
	{ NULL, NULL },
};

/* Five settings, of each file type, and one that is already as wanted. */
static const struct {
	const struct knob_type *type;
	const char *name, *path, *found, *wanted;
} settings[] = {
	{ &knob_number_file, "t.number", "/proc/sys/vm/stat_interval", "1\n", "120" },
	{ &knob_cpuhex_file, "t.hex", "/proc/irq/default_smp_affinity", "f\n", "3" },
	{ &knob_cpulist_file, "t.list", "/proc/irq/24/smp_affinity_list", "0-3\n", "0-1" },
	{ &knob_text_file, "t.text", "/sys/kernel/thing/mode", "a b\tc\n", "new" },
	{ &knob_number_file, "t.already", "/proc/sys/vm/already", "0\n", "0" },
};
#define N_SETTINGS ARRAY_SIZE(settings)

static void put_settings(const struct tree *tree)
{
	for (size_t i = 0; i < N_SETTINGS; i++)
		tree_put(tree, settings[i].path, settings[i].found);
}

static void plan_settings(struct plan *plan, const struct tree *tree, enum policy policy)
{
	for (size_t i = 0; i < N_SETTINGS; i++)
		plan_add_read(plan, &tree->sys, NULL, settings[i].type, policy, settings[i].name,
		              settings[i].path, settings[i].wanted, "for the test");
}

static void expect_found(const struct tree *tree)
{
	for (size_t i = 0; i < N_SETTINGS; i++)
		tree_expect(tree, settings[i].path, settings[i].found);
}

static size_t n_journals(const struct tree *tree)
{
	_cleanup_run_list_ struct run_list list = RUN_LIST_INIT;

	assert_int_equal(run_list_load(&list, &tree->sys, NULL, NULL), 0);
	return list.n + list.bad.n;
}

static int lock(const struct tree *tree)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	int fd = -1;

	if (state_lock(&tree->sys.root, NULL, &fd, &err))
		fail_msg("%s", err.text);
	return fd;
}

static void make_journal(struct journal *j, const struct tree *tree, const struct plan *plan,
                         const char *run_id, unsigned long long order)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	static char *argv[] = { "app", "with\nnewline", "\xff", NULL };
	struct request req = { .argv = argv };

	req.cpus.claimed = true;
	cpumask_set(&req.cpus.workload, 2 + (unsigned int)order);
	req.cpus.claimed = true;
	if (journal_create(j, &tree->sys, &req, plan, run_id, order, &err))
		fail_msg("%s", err.text);
	cpumask_free(&req.cpus.workload);
}

/* One run with its journal, holding the lock; nothing is applied yet. */
struct fixture {
	struct tree *tree;
	struct plan plan;
	struct journal j;
	struct error err;
	int lock;
};

static struct fixture fixture_open(enum policy policy)
{
	struct fixture f = { .j = JOURNAL_INIT };

	f.tree = tree_open(machine_files);
	put_settings(f.tree);
	f.lock = lock(f.tree);
	plan_settings(&f.plan, f.tree, policy);
	make_journal(&f.j, f.tree, &f.plan, "7-7", 1);
	return f;
}

static void fixture_apply(struct fixture *f)
{
	assert_int_equal(plan_apply(&f->plan, &f->tree->sys, &f->j, &f->err), 0);
}

static void fixture_close(struct fixture *f)
{
	plan_free(&f->plan);
	journal_free(&f->j);
	error_clear(&f->err);
	close(f->lock);
	tree_close(f->tree);
}
#define _cleanup_fixture_ _cleanup_(fixture_close)

static void apply_reads_back_and_restore_puts_back(void **state)
{
	_cleanup_fixture_ struct fixture f = fixture_open(POLICY_REQUIRE);

	(void)state;
	assert_true(plan_changes_system(&f.plan));
	fixture_apply(&f);
	for (size_t i = 0; i < N_SETTINGS; i++) {
		assert_int_equal(f.plan.knobs[i]->state, KNOB_GRANTED);
		assert_string_equal(f.plan.knobs[i]->granted, settings[i].wanted);
	}
	assert_ptr_equal(f.plan.knobs[0]->reason, REASON_GRANTED);
	assert_ptr_equal(f.plan.knobs[4]->reason, REASON_ALREADY);
	assert_int_equal(plan_observe(&f.plan, &f.tree->sys, true), 0);
	tree_put(f.tree, settings[0].path, "5\n");
	assert_int_equal(plan_observe(&f.plan, &f.tree->sys, true), 1);
	assert_int_equal(plan_observe(&f.plan, &f.tree->sys, true), 0);
	assert_string_equal(f.plan.knobs[0]->observed, "5");
	tree_put(f.tree, settings[0].path, "120\n");
	assert_int_equal(run_restore(&f.j, &f.tree->sys, NULL, NULL, &f.err), 0);
	expect_found(f.tree);
	assert_int_equal(n_journals(f.tree), 0);
}

/* The journal is written, the first k settings are, then the process is gone. */
static void every_crash_point_is_restored(void **state)
{
	(void)state;
	for (size_t k = 0; k <= N_SETTINGS; k++) {
		_cleanup_fixture_ struct fixture f = fixture_open(POLICY_TRY);

		for (size_t i = 0; i < k; i++)
			assert_int_equal(settings[i].type->write(&f.tree->sys, settings[i].path,
			                                         settings[i].wanted, &f.err),
			                 0);
		journal_free(&f.j);
		tree_put(f.tree, "/run/chisol/8-8.tmp", "{\"chis");
		assert_int_equal(run_restore_dead(&f.tree->sys, NULL, NULL, &f.err), 0);
		expect_found(f.tree);
		assert_int_equal(n_journals(f.tree), 0);
		assert_false(sysroot_exists(&f.tree->sys.root, "/run/chisol/8-8.tmp"));
	}
}

static void a_restore_that_is_cut_short_is_finished_by_the_next(void **state)
{
	(void)state;
	for (size_t k = 0; k <= N_SETTINGS; k++) {
		_cleanup_fixture_ struct fixture f = fixture_open(POLICY_TRY);

		fixture_apply(&f);
		journal_free(&f.j);
		for (size_t i = N_SETTINGS - k; i < N_SETTINGS; i++)
			tree_put(f.tree, settings[i].path, settings[i].found);
		assert_int_equal(run_restore_dead(&f.tree->sys, NULL, NULL, &f.err), 0);
		expect_found(f.tree);
		assert_int_equal(n_journals(f.tree), 0);
	}
}

static void note_outcome(void *ctx, const struct journal *run, const struct journal_record *record,
                         enum knob_restored restored, const char *detail)
{
	(void)run;
	plan_restored(ctx, record->seq, restored, detail);
}

static void a_foreign_change_is_left_alone_and_named(void **state)
{
	_cleanup_fixture_ struct fixture f = fixture_open(POLICY_TRY);

	(void)state;
	fixture_apply(&f);
	tree_put(f.tree, settings[1].path, "7\n");
	assert_int_equal(run_restore(&f.j, &f.tree->sys, note_outcome, &f.plan, &f.err), 0);
	assert_int_equal(f.plan.knobs[1]->restored, RESTORE_FOREIGN);
	assert_non_null(strstr(f.plan.knobs[1]->restore_detail, "reads \"7\""));
	assert_int_equal(f.plan.knobs[0]->restored, RESTORE_DONE);
	assert_int_equal(f.plan.knobs[4]->restored, RESTORE_NONE);
	tree_expect(f.tree, settings[1].path, "7\n");
	tree_expect(f.tree, settings[0].path, settings[0].found);
	assert_int_equal(n_journals(f.tree), 0);
}

static void what_changed_between_plan_and_write_is_what_comes_back(void **state)
{
	_cleanup_fixture_ struct fixture f = fixture_open(POLICY_REQUIRE);

	(void)state;
	tree_put(f.tree, settings[0].path, "9\n");
	fixture_apply(&f);
	tree_expect(f.tree, settings[0].path, "120\n");
	journal_free(&f.j);
	assert_int_equal(run_restore_dead(&f.tree->sys, NULL, NULL, &f.err), 0);
	tree_expect(f.tree, settings[0].path, "9\n");
}

static void a_value_that_is_gone_holds_nothing_up(void **state)
{
	_cleanup_fixture_ struct fixture f = fixture_open(POLICY_TRY);
	_cleanup_free_ char *path = NULL;

	(void)state;
	fixture_apply(&f);
	path = xasprintf("%s%s", f.tree->dir, settings[2].path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(run_restore(&f.j, &f.tree->sys, note_outcome, &f.plan, &f.err), 0);
	assert_int_equal(f.plan.knobs[2]->restored, RESTORE_GONE);
	tree_expect(f.tree, settings[0].path, settings[0].found);
	assert_int_equal(n_journals(f.tree), 0);
}

/* Types whose writes fail, as the kernel's do. Their names are of the table: a journal has them. */
static int refuse(const struct system *sys, const char *path, const char *value, struct error *err)
{
	(void)sys;
	return error_errno(err, EBUSY, "cannot write \"%s\" to %s", value, path);
}

static const struct knob_type refusing = {
	.name = "number-file",
	.read = knob_file_read,
	.write = refuse,
};

static int distort(const struct system *sys, const char *path, const char *value, struct error *err)
{
	_cleanup_free_ char *other = xasprintf("%s0", value);

	return knob_file_write(sys, path, other, err);
}

static const struct knob_type distorting = {
	.name = "number-file",
	.read = knob_file_read,
	.write = distort,
};

static const struct knob_type slow = {
	.name = "number-file",
	.read = knob_file_read,
	.write = knob_file_write,
	.slow = true,
};

static void what_is_slow_to_read_is_observed_at_the_end_only(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(machine_files);
	_cleanup_plan_ struct plan plan = PLAN_INIT;
	_cleanup_error_ struct error err = ERROR_INIT;

	(void)state;
	put_settings(tree);
	plan_add_read(&plan, &tree->sys, NULL, &slow, POLICY_TRY, "t.slow", settings[0].path, "120",
	              "for the test");
	assert_int_equal(plan_apply(&plan, &tree->sys, NULL, &err), 0);
	tree_put(tree, settings[0].path, "5\n");
	assert_int_equal(plan_observe(&plan, &tree->sys, true), 0);
	assert_int_equal(plan.knobs[0]->observed_state, OBSERVED_NOT);
	assert_int_equal(plan_observe(&plan, &tree->sys, false), 1);
}

static void what_is_required_and_refused_ends_the_apply(void **state)
{
	_cleanup_fixture_ struct fixture f = fixture_open(POLICY_REQUIRE);

	(void)state;
	f.plan.knobs[2]->type = &refusing;
	f.plan.knobs[2]->remedy = xstrdup("stop what uses it");
	assert_int_equal(plan_apply(&f.plan, &f.tree->sys, &f.j, &f.err), -EBUSY);
	assert_ptr_equal(f.err.reason, REASON_BUSY);
	assert_non_null(strstr(f.err.text, settings[2].name));
	assert_non_null(strstr(f.err.text, settings[2].path));
	assert_non_null(strstr(f.err.text, "stop what uses it"));
	tree_expect(f.tree, settings[0].path, "120\n");
	tree_expect(f.tree, settings[3].path, settings[3].found);
	assert_int_equal(f.plan.knobs[3]->state, KNOB_PLANNED);
	assert_int_equal(run_restore(&f.j, &f.tree->sys, NULL, NULL, &f.err), 0);
	expect_found(f.tree);
}

static void what_was_to_be_in_something_that_cannot_be_made_is_not_tried(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(machine_files);
	_cleanup_plan_ struct plan plan = PLAN_INIT;
	_cleanup_error_ struct error err = ERROR_INIT;
	static const char *const paths[] = { "/a/run", "/a/run", "/a/run/hot/cpus", "/a/runs" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		plan_add(&plan, NULL, i ? &knob_text_file : &refusing, POLICY_TRY, "t.x", paths[i],
		         NULL, "1", "")
			->fresh = i > 0;
	assert_int_equal(plan_apply(&plan, &tree->sys, NULL, &err), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_ptr_equal(plan.knobs[i]->reason, REASON_BUSY);
		assert_string_equal(plan.knobs[i]->detail, plan.knobs[0]->detail);
	}
	assert_ptr_equal(plan.knobs[3]->reason, REASON_ABSENT);
}

static void what_comes_after_something_that_does_not_open_its_directory_is_not_tried(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_open(machine_files);
	_cleanup_plan_ struct plan plan = PLAN_INIT;
	_cleanup_error_ struct error err = ERROR_INIT;
	static const char *const paths[] = { "/a/hot/type", "/a/hot/cpus", "/a/hotter" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		plan_add(&plan, NULL, i ? &knob_text_file : &refusing, POLICY_TRY, "t.x", paths[i],
		         NULL, "1", "")
			->fresh = true;
	plan.knobs[0]->opens = true;
	assert_int_equal(plan_apply(&plan, &tree->sys, NULL, &err), 0);
	assert_ptr_equal(plan.knobs[0]->reason, REASON_BUSY);
	assert_ptr_equal(plan.knobs[1]->reason, REASON_BUSY);
	assert_ptr_equal(plan.knobs[2]->reason, REASON_ABSENT);
}

static void what_is_known_to_be_missing_ends_the_apply_before_any_write(void **state)
{
	_cleanup_tree_ struct tree *tree = NULL;
	_cleanup_plan_ struct plan plan = PLAN_INIT;
	_cleanup_error_ struct error err = ERROR_INIT;

	(void)state;
	tree = tree_open(machine_files);
	put_settings(tree);
	plan_settings(&plan, tree, POLICY_REQUIRE);
	plan_add_read(&plan, &tree->sys, NULL, &knob_text_file, POLICY_TRY, "t.tried",
	              "/proc/sys/none", "1", "for the test");
	assert_int_equal(plan.knobs[N_SETTINGS]->state, KNOB_UNAVAILABLE);
	plan_add_read(&plan, &tree->sys, NULL, &knob_text_file, POLICY_REQUIRE, "t.none",
	              "/proc/sys/none", "1", "for the test");
	assert_true(plan_apply(&plan, &tree->sys, NULL, &err) < 0);
	assert_non_null(strstr(err.text, "t.none"));
	expect_found(tree);
}

static void a_write_that_reads_back_otherwise_is_refused_and_undone(void **state)
{
	_cleanup_fixture_ struct fixture f = fixture_open(POLICY_TRY);

	(void)state;
	f.plan.knobs[0]->type = &distorting;
	fixture_apply(&f);
	assert_int_equal(f.plan.knobs[0]->state, KNOB_REFUSED);
	assert_ptr_equal(f.plan.knobs[0]->reason, REASON_READ_BACK_DIFFERS);
	tree_expect(f.tree, settings[0].path, "1200\n");
	journal_free(&f.j);
	assert_int_equal(run_restore_dead(&f.tree->sys, NULL, NULL, &f.err), 0);
	expect_found(f.tree);
}

/* The second setting's file makes something else of what is written. */
static void what_was_being_written_at_the_end_is_put_back_whatever_it_reads(void **state)
{
	_cleanup_fixture_ struct fixture f = fixture_open(POLICY_TRY);

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(journal_note_begun(&f.j, i, &f.err), 0);
		tree_put(f.tree, settings[i].path, "5\n"); /* the first by somebody else, later */
	}
	journal_free(&f.j);
	assert_int_equal(run_restore_dead(&f.tree->sys, note_outcome, &f.plan, &f.err), 0);
	assert_int_equal(f.plan.knobs[1]->restored, RESTORE_DONE);
	tree_expect(f.tree, settings[1].path, settings[1].found);
	assert_int_equal(f.plan.knobs[0]->restored, RESTORE_FOREIGN);
	tree_expect(f.tree, settings[0].path, "5\n");
}

/* After apply, whether the last write went as wanted (0) or not (1). */
static void what_is_changed_after_the_last_write_is_left_alone(void **state)
{
	(void)state;
	for (int distorted = 0; distorted < 2; distorted++) {
		_cleanup_tree_ struct tree *tree = tree_open(machine_files);
		_cleanup_plan_ struct plan plan = PLAN_INIT;
		_cleanup_error_ struct error err = ERROR_INIT;
		struct journal j = JOURNAL_INIT;
		_cleanup_close_ int fd = lock(tree);

		assert_true(fd >= 0);
		put_settings(tree);
		plan_add_read(&plan, &tree->sys, NULL, distorted ? &distorting : &knob_number_file,
		              distorted ? POLICY_REQUIRE : POLICY_TRY, "t.last", settings[0].path,
		              "120", "for the test");
		make_journal(&j, tree, &plan, "7-7", 1);
		assert_int_equal(plan_apply(&plan, &tree->sys, &j, &err), distorted ? -ENOTSUP : 0);
		tree_put(tree, settings[0].path, "5\n");
		journal_free(&j);
		assert_int_equal(run_restore_dead(&tree->sys, note_outcome, &plan, &err), 0);
		assert_int_equal(plan.knobs[0]->restored, RESTORE_FOREIGN);
		tree_expect(tree, settings[0].path, "5\n");
	}
}

/* Makes the journal of this process that of another one, which is alive in the tree. */
static void give_to(const struct tree *tree, struct journal *j, pid_t pid)
{
	_cleanup_free_ char *text = NULL, *pids = NULL, *stat = NULL, *changed = NULL;
	_cleanup_free_ char *own =
		xasprintf("\"pid\":%d,\"start_time\":%llu", getpid(), j->start_time);
	char *at, *path = j->path;

	assert_int_equal(sysroot_read_limit(&tree->sys.root, path, SYSROOT_SMALL, &text, NULL), 0);
	at = strstr(text, own);
	assert_non_null(at);
	*at = '\0';
	changed = xasprintf("%s\"pid\":%d,\"start_time\":%d%s", text, pid, 1000 + pid,
	                    at + strlen(own));
	j->path = NULL;
	journal_free(j);
	tree_put(tree, path, changed);
	pids = xasprintf("/proc/%d/stat", pid);
	stat = xasprintf("%d (a) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0\n", pid,
	                 1000 + pid);
	tree_put(tree, pids, stat);
	assert_int_equal(journal_load(j, &tree->sys, path, NULL), 0);
	free(path);
}

struct three {
	int lock;
	struct tree *tree;
	struct plan plans[3];
	struct journal runs[3];
};

/*
 * Runs 0, 1, 2 are stacked. What they share: a is changed by all; b is wanted alike by 0 and 1; c
 * is refused to 1; d is held by 0 and 2 only.
 */
static void start_three(struct three *t)
{
	static const char *const wanted[3][4] = {
		{ "10", "10", "10", "10" },
		{ "20", "10", "20", NULL },
		{ "30", "30", "30", "30" },
	};
	static const char *const paths[4] = { "/proc/sys/a", "/proc/sys/b", "/proc/sys/c",
		                              "/proc/sys/d" };
	static const char *const ids[3] = { "1-1", "2-2", "3-3" };

	t->tree = tree_open(machine_files);
	t->lock = lock(t->tree);
	for (size_t k = 0; k < 4; k++)
		tree_put(t->tree, paths[k], "0\n");
	for (int r = 0; r < 3; r++) {
		t->plans[r] = (struct plan)PLAN_INIT;
		t->runs[r] = (struct journal)JOURNAL_INIT;
		for (size_t k = 0; k < 4; k++)
			if (wanted[r][k])
				plan_add_read(&t->plans[r], &t->tree->sys, NULL, &knob_number_file,
				              POLICY_TRY, "t.shared", paths[k], wanted[r][k], "");
		if (r == 1)
			t->plans[r].knobs[2]->type = &refusing;
		make_journal(&t->runs[r], t->tree, &t->plans[r], ids[r], (unsigned long long)r + 1);
		assert_int_equal(plan_apply(&t->plans[r], &t->tree->sys, &t->runs[r], NULL), 0);
		give_to(t->tree, &t->runs[r], 100 + r);
	}
}

static void end_three(struct three *t)
{
	for (int r = 0; r < 3; r++) {
		journal_free(&t->runs[r]);
		plan_free(&t->plans[r]);
	}
	close(t->lock);
	tree_close(t->tree);
}

static void three_runs_end_in_any_order(void **state)
{
	static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
		                          { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	/* What the youngest of the runs that are left (a bit each) made of a and b. */
	static const char *const top[8] = { "0\n",  "10\n", "20\n", "20\n",
		                            "30\n", "30\n", "30\n", "30\n" };

	static const char *const top_b[8] = { "0\n",  "10\n", "10\n", "10\n",
		                              "30\n", "30\n", "30\n", "30\n" };

	(void)state;
	for (size_t o = 0; o < 6; o++) {
		struct three t;
		unsigned int left = 7;
		_cleanup_error_ struct error err = ERROR_INIT;

		start_three(&t);
		tree_expect(t.tree, "/proc/sys/c", "30\n");
		for (int i = 0; i < 3; i++) {
			int r = orders[o][i];

			assert_int_equal(run_restore(&t.runs[r], &t.tree->sys, note_outcome,
			                             &t.plans[r], &err),
			                 0);
			left &= ~(1u << r);
			for (size_t k = 0; k < t.plans[r].n_knobs; k++)
				assert_int_not_equal(t.plans[r].knobs[k]->restored,
				                     RESTORE_FOREIGN);
			tree_expect(t.tree, "/proc/sys/a", top[left]);
			tree_expect(t.tree, "/proc/sys/b", top_b[left]);
		}
		for (const char *k = "abcd"; *k; k++) {
			char path[] = "/proc/sys/?";

			path[sizeof(path) - 2] = *k;
			tree_expect(t.tree, path, "0\n");
		}
		assert_int_equal(n_journals(t.tree), 0);
		end_three(&t);
	}
}

static void dead_runs_are_restored_youngest_first_and_live_ones_inherit(void **state)
{
	/* Which of the three are dead (a bit each), and what is left of a. */
	static const char *const left[8] = { "30\n", "30\n", "30\n", "30\n",
		                             "20\n", "20\n", "10\n", "0\n" };

	(void)state;
	for (unsigned int dead = 0; dead < 8; dead++) {
		struct three t;
		_cleanup_error_ struct error err = ERROR_INIT;

		start_three(&t);
		for (int r = 0; r < 3; r++) {
			_cleanup_free_ char *stat = xasprintf("/proc/%d/stat", 100 + r);

			/* Another process has the number now, or it is a zombie. */
			if (dead >> r & 1)
				tree_put(
					t.tree, stat,
					r ? "1 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0\n"
					  : "1 (x) Z 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 1100 0 0\n");
		}
		assert_int_equal(run_restore_dead(&t.tree->sys, NULL, NULL, &err), 0);
		tree_expect(t.tree, "/proc/sys/a", left[dead]);
		assert_int_equal(n_journals(t.tree), 3 - __builtin_popcount(dead));
		for (int r = 0; r < 3; r++)
			if (!(dead >> r & 1))
				assert_int_equal(
					run_restore(&t.runs[r], &t.tree->sys, NULL, NULL, &err), 0);
		tree_expect(t.tree, "/proc/sys/a", "0\n");
		tree_expect(t.tree, "/proc/sys/c", "0\n");
		end_three(&t);
	}
}

static void cpus_of_a_live_run_are_refused_with_its_name(void **state)
{
	struct three t;
	_cleanup_run_list_ struct run_list list = RUN_LIST_INIT;
	_cleanup_cpumask_ struct cpumask taken = CPUMASK_INIT, wanted = CPUMASK_INIT;
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_free_ char *cpus = NULL;

	(void)state;
	start_three(&t);
	assert_int_equal(run_list_load(&list, &t.tree->sys, NULL, &err), 0);
	assert_int_equal(run_list_next_order(&list), 4);
	run_list_cpus(&list, &t.tree->sys, &taken);
	cpus = cpumask_list(&taken);
	assert_string_equal(cpus, "3-5");
	cpumask_set_range(&wanted, 0, 2);
	assert_int_equal(run_list_check_cpus(&list, &t.tree->sys, &wanted, &err), 0);
	cpumask_set(&wanted, 4);
	assert_int_equal(run_list_check_cpus(&list, &t.tree->sys, &wanted, &err), -EBUSY);
	assert_non_null(strstr(err.text, "CPU 4"));
	assert_non_null(strstr(err.text, "2-2"));
	assert_non_null(strstr(err.text, "101: app with?newline ?"));
	tree_put(t.tree, "/proc/101/stat", "gone\n");
	error_clear(&err);
	/* What cannot be told apart counts as alive. */
	assert_int_equal(run_list_check_cpus(&list, &t.tree->sys, &wanted, &err), -EBUSY);
	end_three(&t);
}

static void a_locked_journal_is_of_a_live_run_whatever_proc_shows(void **state)
{
	_cleanup_fixture_ struct fixture f = fixture_open(POLICY_TRY);
	_cleanup_run_list_ struct run_list list = RUN_LIST_INIT;
	int status = 0;
	pid_t pid;

	(void)state;
	fixture_apply(&f);
	/* Another process, as a process does not see its own locks. */
	pid = fork();
	if (!pid)
		_exit(run_restore_dead(&f.tree->sys, NULL, NULL, NULL) ? EXIT_FAILURE
		                                                       : EXIT_SUCCESS);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	tree_expect(f.tree, settings[0].path, "120\n");
	journal_free(&f.j);
	assert_int_equal(run_list_load(&list, &f.tree->sys, NULL, &f.err), 0);
	assert_int_equal(run_state(&list.runs[0], &f.tree->sys), RUN_DEAD);
}

/* As in a container over whose /proc something else is mounted. */
static void without_a_boot_id_no_journal_is_written_or_cleared(void **state)
{
	_cleanup_fixture_ struct fixture f = fixture_open(POLICY_TRY);
	struct request req = { 0 };

	(void)state;
	journal_free(&f.j);
	xreplace(&f.tree->sys.machine.boot_id, "");
	assert_int_equal(run_restore_dead(&f.tree->sys, NULL, NULL, &f.err), -ENOENT);
	assert_non_null(strstr(f.err.text, "boot_id"));
	assert_int_equal(journal_create(&f.j, &f.tree->sys, &req, &f.plan, "8-8", 2, &f.err),
	                 -ENOENT);
	assert_true(sysroot_exists(&f.tree->sys.root, "/run/chisol/7-7.journal"));
	assert_false(sysroot_exists(&f.tree->sys.root, "/run/chisol/8-8.journal"));
}

static void a_journal_of_another_boot_is_cleared_and_not_replayed(void **state)
{
	_cleanup_fixture_ struct fixture f = fixture_open(POLICY_TRY);

	(void)state;
	fixture_apply(&f);
	journal_free(&f.j);
	xreplace(&f.tree->sys.machine.boot_id, "another");
	assert_int_equal(run_restore_dead(&f.tree->sys, NULL, NULL, &f.err), 0);
	tree_expect(f.tree, settings[0].path, "120\n");
	assert_int_equal(n_journals(f.tree), 0);
}

static void a_run_is_put_back_though_somebody_removed_its_journal(void **state)
{
	_cleanup_fixture_ struct fixture f = fixture_open(POLICY_TRY);
	_cleanup_free_ char *path = NULL;

	(void)state;
	fixture_apply(&f);
	path = xasprintf("%s%s", f.tree->dir, f.j.path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(run_restore(&f.j, &f.tree->sys, NULL, NULL, &f.err), 0);
	expect_found(f.tree);
}

static void what_cannot_be_put_back_stays_in_the_journal(void **state)
{
	_cleanup_fixture_ struct fixture f = fixture_open(POLICY_TRY);
	_cleanup_free_ char *path = NULL;

	(void)state;
	fixture_apply(&f);
	journal_free(&f.j);
	/* A directory in the place of the file cannot be read, even by root. */
	path = xasprintf("%s%s", f.tree->dir, settings[3].path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(run_restore_dead(&f.tree->sys, note_outcome, &f.plan, &f.err), -EIO);
	assert_non_null(strstr(f.err.text, settings[3].name));
	assert_int_equal(f.plan.knobs[3]->restored, RESTORE_FAILED);
	tree_expect(f.tree, settings[0].path, settings[0].found);
	assert_int_equal(n_journals(f.tree), 1);
	assert_int_equal(rmdir(path), 0);
	tree_put(f.tree, settings[3].path, "new\n");
	error_clear(&f.err);
	assert_int_equal(run_restore_dead(&f.tree->sys, NULL, NULL, &f.err), 0);
	expect_found(f.tree);
	assert_int_equal(n_journals(f.tree), 0);
}

static void what_cannot_be_put_back_is_left_alone_by_younger_runs(void **state)
{
	_cleanup_fixture_ struct fixture f = fixture_open(POLICY_TRY);
	_cleanup_plan_ struct plan next = PLAN_INIT;
	_cleanup_(leftovers_free) struct leftovers leftovers = LEFTOVERS_INIT;

	(void)state;
	fixture_apply(&f);
	/* A file cannot be made to be gone. */
	assert_int_equal(journal_amend_found(&f.j, 3, NULL, &f.err), 0);
	journal_free(&f.j);
	assert_int_equal(run_restore_dead(&f.tree->sys, leftovers_note, &leftovers, &f.err), -EIO);
	assert_int_equal(leftovers.n, 1);
	assert_string_equal(leftovers.all[0].path, settings[3].path);

	/* A younger run leaves it alone, and takes what it wants of the rest. */
	plan_settings(&next, f.tree, POLICY_TRY);
	leftovers_refuse(&leftovers, &next);
	assert_int_equal(next.n_notes, 1);
	assert_int_equal(next.knobs[3]->state, KNOB_REFUSED);
	assert_ptr_equal(next.knobs[3]->reason, REASON_RESTORE_FAILED);
	assert_int_equal(next.knobs[0]->state, KNOB_PLANNED);

	/* The value that the run wanted is somebody else's now. */
	tree_put(f.tree, settings[0].path, "120\n");
	error_clear(&f.err);
	assert_int_equal(run_restore_dead(&f.tree->sys, leftovers_note, &leftovers, &f.err), -EIO);
	assert_int_equal(leftovers.n, 2);
	tree_expect(f.tree, settings[0].path, "120\n");
}

static void a_run_that_is_given_up_is_kept_for_people_only(void **state)
{
	_cleanup_fixture_ struct fixture f = fixture_open(POLICY_TRY);

	(void)state;
	fixture_apply(&f);
	assert_int_equal(run_forget(&f.j, &f.tree->sys, &f.err), 0);
	assert_int_equal(n_journals(f.tree), 0);
	assert_true(sysroot_exists(&f.tree->sys.root, "/run/chisol/7-7.forgotten"));
	assert_int_equal(run_restore_dead(&f.tree->sys, NULL, NULL, &f.err), 0);
	tree_expect(f.tree, settings[0].path, "120\n");
}

static void a_state_directory_that_others_can_write_to_is_refused(void **state)
{
	_cleanup_tree_ struct tree *tree = NULL;
	_cleanup_error_ struct error err = ERROR_INIT;
	_cleanup_free_ char *path = NULL;
	int fd = -1;

	(void)state;
	tree = tree_open(machine_files);
	path = xasprintf("%s/run/chisol", tree->dir);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(state_lock(&tree->sys.root, NULL, &fd, &err), -EPERM);
	assert_non_null(strstr(err.text, "0777"));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(symlink("/tmp", path), 0);
	assert_true(state_lock(&tree->sys.root, NULL, &fd, &err) < 0);
	assert_int_equal(fd, -1);
	assert_int_equal(unlink(path), 0);
	tree_put(tree, "/run/chisol", "");
	assert_true(state_lock(&tree->sys.root, NULL, &fd, &err) < 0);
}

static int apply_task(const struct system *sys, struct task_setting *t, struct error *err)
{
	(void)sys;
	(void)t;
	(void)err;
	return 0;
}

static void task_settings_are_kept_in_the_order_of_their_stages(void **state)
{
	static const struct task_op ops[] = { { .stage = TASK_STAGE_ISOLATION, apply_task },
		                              { .stage = TASK_STAGE_CGROUP, apply_task },
		                              { .stage = TASK_STAGE_AFFINITY, apply_task } };
	_cleanup_plan_ struct plan plan = PLAN_INIT;
	static const char *const names[] = { "x", "y", "z", "a", "c", "b" };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		plan_add_task(&plan, NULL, &ops[0], POLICY_TRY, names[i], NULL, "");
	plan_add_task(&plan, NULL, &ops[1], POLICY_TRY, names[3], NULL, "");
	plan_add_task(&plan, NULL, &ops[2], POLICY_TRY, names[4], NULL, "");
	plan_add_task(&plan, NULL, &ops[1], POLICY_TRY, names[5], NULL, "");
	assert_int_equal(plan.n_tasks, 6);
	assert_string_equal(plan.tasks[0]->name, "a");
	assert_string_equal(plan.tasks[1]->name, "b");
	assert_string_equal(plan.tasks[2]->name, "c");
	assert_string_equal(plan.tasks[3]->name, "x");
	assert_string_equal(plan.tasks[5]->name, "z");
}

static void where_nothing_may_be_written_what_is_tried_is_refused(void **state)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	struct error why = { .err = EROFS, .text = (char *)"cannot open the lock" };

	(void)state;
	for (enum policy policy = POLICY_TRY; policy <= POLICY_REQUIRE; policy++) {
		_cleanup_tree_ struct tree *tree = tree_open(machine_files);
		_cleanup_plan_ struct plan plan = PLAN_INIT;

		put_settings(tree);
		plan_settings(&plan, tree, policy);
		if (policy == POLICY_REQUIRE) {
			assert_int_equal(plan_refuse(&plan, &why, &err), -EROFS);
			assert_string_equal(err.text, why.text);
			continue;
		}
		assert_int_equal(plan_refuse(&plan, &why, &err), 0);
		assert_false(plan_changes_system(&plan));
		assert_int_equal(plan.knobs[0]->state, KNOB_REFUSED);
		assert_ptr_equal(plan.knobs[0]->reason, REASON_READ_ONLY);
		assert_string_equal(plan.knobs[0]->detail, why.text);
		assert_int_equal(plan.knobs[4]->state, KNOB_GRANTED);
		assert_ptr_equal(plan.knobs[4]->reason, REASON_ALREADY);
		assert_int_equal(plan_apply(&plan, &tree->sys, NULL, &err), 0);
		expect_found(tree);
	}
}

/* A journal may say of anything that there was nothing before. */
static void no_type_is_confused_by_a_value_that_is_missing(void **state)
{
	static const char *const names[] = {
		"text-file",    "number-file",    "cpulist-file",     "cpuhex-file",
		"irqbalance",   "irq-affinity",   "task-affinity",    "cgroup-dir",
		"cpuset-cpus",  "cpuset-balance", "cpuset-partition", "cgroup-controller",
		"cgroup-evict", "task-mask",
	};
	_cleanup_tree_ struct tree *tree = tree_open(machine_files);

	(void)state;
	tree_put(tree, "/proc/9/stat", "9 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct knob_type *type = knob_type_by_name(names[i]);
		_cleanup_error_ struct error err = ERROR_INIT;

		assert_non_null(type);
		assert_true(type->write(&tree->sys, "/proc/9/5", NULL, &err) < 0);
		assert_non_null(err.text);
		assert_true(knob_same(type, NULL, NULL));
		assert_false(knob_same(type, NULL, "0"));
	}
}

static void values_are_compared_by_meaning(void **state)
{
	_cleanup_free_ char *quoted = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&quoted, &size);

	(void)state;
	assert_true(knob_same_number("010", " 10"));
	assert_true(knob_same_number("-0", "0"));
	assert_false(knob_same_number("-1", "1"));
	assert_false(knob_same_number("18446744073709551616", "0"));
	assert_false(knob_same_number("", "0"));
	assert_true(knob_same_cpulist("0-1,2", "0-2"));
	assert_true(knob_same_cpulist("(null)", ""));
	assert_false(knob_same_cpulist("x", "0"));
	assert_true(knob_same(&knob_cpuhex_file, "00000000,00000003", "3"));
	assert_false(knob_same(&knob_text_file, NULL, "x"));
	assert_true(knob_same(&knob_text_file, NULL, NULL));
	assert_null(knob_type_by_name("no-such-type"));
	assert_ptr_equal(knob_type_by_name("text-file"), &knob_text_file);
	knob_file_shell(out, "/a b", "it's");
	fclose(out);
	assert_string_equal(quoted, "printf '%s\\n' 'it'\\''s' > '/a b'\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(apply_reads_back_and_restore_puts_back),
		cmocka_unit_test(every_crash_point_is_restored),
		cmocka_unit_test(a_restore_that_is_cut_short_is_finished_by_the_next),
		cmocka_unit_test(a_foreign_change_is_left_alone_and_named),
		cmocka_unit_test(what_changed_between_plan_and_write_is_what_comes_back),
		cmocka_unit_test(a_value_that_is_gone_holds_nothing_up),
		cmocka_unit_test(what_is_slow_to_read_is_observed_at_the_end_only),
		cmocka_unit_test(what_is_required_and_refused_ends_the_apply),
		cmocka_unit_test(what_was_to_be_in_something_that_cannot_be_made_is_not_tried),
		cmocka_unit_test(
			what_comes_after_something_that_does_not_open_its_directory_is_not_tried),
		cmocka_unit_test(what_is_known_to_be_missing_ends_the_apply_before_any_write),
		cmocka_unit_test(a_write_that_reads_back_otherwise_is_refused_and_undone),
		cmocka_unit_test(what_was_being_written_at_the_end_is_put_back_whatever_it_reads),
		cmocka_unit_test(what_is_changed_after_the_last_write_is_left_alone),
		cmocka_unit_test(three_runs_end_in_any_order),
		cmocka_unit_test(dead_runs_are_restored_youngest_first_and_live_ones_inherit),
		cmocka_unit_test(cpus_of_a_live_run_are_refused_with_its_name),
		cmocka_unit_test(a_locked_journal_is_of_a_live_run_whatever_proc_shows),
		cmocka_unit_test(without_a_boot_id_no_journal_is_written_or_cleared),
		cmocka_unit_test(a_journal_of_another_boot_is_cleared_and_not_replayed),
		cmocka_unit_test(a_run_is_put_back_though_somebody_removed_its_journal),
		cmocka_unit_test(what_cannot_be_put_back_stays_in_the_journal),
		cmocka_unit_test(what_cannot_be_put_back_is_left_alone_by_younger_runs),
		cmocka_unit_test(a_run_that_is_given_up_is_kept_for_people_only),
		cmocka_unit_test(a_state_directory_that_others_can_write_to_is_refused),
		cmocka_unit_test(task_settings_are_kept_in_the_order_of_their_stages),
		cmocka_unit_test(where_nothing_may_be_written_what_is_tried_is_refused),
		cmocka_unit_test(no_type_is_confused_by_a_value_that_is_missing),
		cmocka_unit_test(values_are_compared_by_meaning),
	};

	return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
