/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run.h"

#include "../isolcore/preflight.h"
#include "../isolcore/state.h"
#include "escape.h"
#include "load.h"
#include "setting.h"
#include "stream.h"
#include "waiting.h"
#include "watch.h"

#include <errno.h>
#include <fcntl.h>

/*
 * A run that changes the machine holds the lock from before it looks until it has applied. Without
 * root there is no lock to have; whether that matters turns out with the plan.
 */
static int take_lock(struct run *run, struct error *err)
{
	if (state_lock(&run->sys->root, say_waiting, &run->lock_fd, &run->lock_err))
		return 0;
	/* What cannot be put back stands in the way only of those who want the same. */
	if (run_restore_dead(run->sys, leftovers_note, &run->leftovers, err)) {
		if (!run->leftovers.n)
			return error_prefix(err,
			                    "cannot look after other runs; see chisol --status");
		error_clear(err);
	}
	return run_list_load(&run->others, run->sys, NULL, err);
}

static int open_sinks(struct options *options, struct error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < options->n_sinks; i++)
		rc = report_sink_open(&options->sinks[i], err);
	return rc;
}

int run_prepare(struct run *run, const struct system *sys, struct options *options,
                struct error *err)
{
	_cleanup_cpumask_ struct cpumask taken = CPUMASK_INIT;
	struct request *req = &options->req;
	int rc;

	run->sys = sys;
	run->options = options;
	run->id = run_id_make(err);
	if (!run->id)
		return -err->err;
	rc = request_settle(req, err);
	/* Before the lock: opening a FIFO waits for its reader. */
	if (!rc && options->action == ACTION_RUN)
		rc = open_sinks(options, err);
	if (!rc && options->action == ACTION_RUN && request_changes_machine(req))
		rc = take_lock(run, err);
	if (!rc)
		rc = probe_check_options(options, err);
	if (rc)
		return rc;
	run_list_cpus(&run->others, sys, &taken);
	rc = request_resolve(req, sys, &taken, err);
	if (!rc && (req->cpus.claimed || req->cpus.asked))
		rc = run_list_check_cpus(&run->others, sys, &req->cpus.workload, err);
	if (!rc)
		rc = plan_build(&run->plan, sys, req, run->id, err);
	if (!rc)
		leftovers_refuse(&run->leftovers, &run->plan);
	return rc;
}

/* Putting back needs descriptors, whatever else is open by then. */
static int set_descriptors_aside(struct run *run, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(run->aside); i++) {
		run->aside[i] = fcntl(run->sys->root.fd, F_DUPFD_CLOEXEC, 0);
		if (run->aside[i] < 0)
			return error_errno(err, errno,
			                   "cannot set aside the descriptors for putting the "
			                   "machine back, so nothing was changed (ulimit -n)");
	}
	return 0;
}

static void use_descriptors(struct run *run)
{
	for (size_t i = 0; i < ARRAY_SIZE(run->aside); i++)
		if (run->aside[i] >= 0)
			close(take_fd(&run->aside[i]));
}

void run_free(struct run *run)
{
	plan_free(&run->plan);
	free(run->id);
	if (run->lock_fd >= 0)
		close(run->lock_fd);
	error_clear(&run->lock_err);
	run_list_free(&run->others);
	leftovers_free(&run->leftovers);
	use_descriptors(run);
}

static void unlock(struct run *run)
{
	close(take_fd(&run->lock_fd));
}

/* Memory ran out while the machine is changed: a fresh image of this process reads the journal,
 * ends the command, puts everything back and exits with EXIT_CHISOL (status.c). What it tells goes
 * to standard error. */
static void restore_in_fresh_image(void)
{
	dup2(STDERR_FILENO, STDOUT_FILENO);
	launch_say_out_of_memory();
	execl("/proc/self/exe", "chisol", "--restore", (char *)NULL);
	_exit(EXIT_CHISOL);
}

static void note_restored(void *ctx, const struct journal *journal,
                          const struct journal_record *record, enum knob_restored restored,
                          const char *detail)
{
	(void)journal;
	plan_restored(ctx, record->seq, restored, detail);
}

/* Does a report for people go to standard error? */
static bool tells_people(const struct options *options)
{
	for (size_t i = 0; i < options->n_sinks; i++)
		if (options->sinks[i].format == REPORT_TEXT && !options->sinks[i].path)
			return true;
	return false;
}

/* Puts back what the run changed. A failure is a warning: the journal stays for --restore. */
static void restore(struct run *run, struct journal *journal, struct namelist *warnings)
{
	_cleanup_error_ struct error err = ERROR_INIT;
	int rc = 0;

	use_descriptors(run);
	if (run->lock_fd < 0)
		rc = state_lock(&run->sys->root, say_waiting, &run->lock_fd, &err);
	if (!rc)
		rc = run_restore(journal, run->sys, note_restored, &run->plan, &err);
	/* Standard error may be a pipe that nobody reads. */
	unlock(run);
	if (rc) {
		char *warning = xasprintf(
			"not everything is put back (%s); run \"chisol --restore\" to try again",
			err.text);

		namelist_take(warnings, warning);
		/* Whoever reads reports in files reads them later, or never. */
		if (!tells_people(run->options))
			escape_fold(stderr, 0, 0, "chisol: %s", warning);
	}
	mem_exhausted = launch_out_of_memory;
}

static int write_reports(const struct options *options, const struct run_report *report,
                         struct error *err)
{
	int rc = 0;

	for (size_t i = 0; i < options->n_sinks; i++) {
		int failed = report_write(&options->sinks[i], report, rc ? NULL : err);

		if (!rc)
			rc = failed;
	}
	return rc;
}

/* Nothing to put back and nobody who wants to hear of the end: chisol becomes the command. What is
 * only tried, and what there is to tell, wants a parent that tells it. */
static bool can_exec_in_place(const struct run *run)
{
	if (plan_changes_system(&run->plan) || run->options->n_sinks || run->options->fail_on ||
	    run->options->verbose || run->plan.n_notes ||
	    policy_asked(run->options->req.probe.policy) ||
	    policy_asked(run->options->req.load.policy))
		return false;
	/* Known since the plan was made: cannot be had, which is told or ends the launch. */
	plan_for_each (knob, &run->plan)
		if (knob->state != KNOB_PLANNED)
			return false;
	for (size_t i = 0; i < run->plan.n_tasks; i++)
		if (run->plan.tasks[i]->policy != POLICY_REQUIRE)
			return false;
	return true;
}

static int apply(struct run *run, struct journal *journal, struct error *err)
{
	int rc = plan_preflight(&run->plan, run->sys, err);

	if (rc)
		return rc;
	if (run->lock_fd < 0 && plan_changes_system(&run->plan)) {
		if (!run->lock_err.err)
			error_set(&run->lock_err, ENOLCK,
			          "cannot change the machine: the plan was made without the lock "
			          "on " STATE_DIR "; please report this");
		rc = plan_refuse(&run->plan, &run->lock_err, err);
	}
	if (rc)
		return rc;
	/* What is required and cannot be had ends the run here, though nothing is to be written. */
	if (!plan_changes_system(&run->plan))
		return plan_apply(&run->plan, run->sys, NULL, err);
	rc = set_descriptors_aside(run, err);
	if (rc)
		return rc;
	rc = journal_create(journal, run->sys, &run->options->req, &run->plan, run->id,
	                    run_list_next_order(&run->others), err);
	if (rc)
		return rc;
	mem_exhausted = restore_in_fresh_image;
	return plan_apply(&run->plan, run->sys, journal, err);
}

/* The status that --fail-on asks for instead of 0; 0: none. */
static int failed_on(const struct options *options, const struct run_report *report)
{
	enum verdict_state verdict = probe_verdict(report->probe, report->req);

	if (options->fail_on & FAIL_ON_BROKEN && verdict == VERDICT_BROKEN)
		return EXIT_BROKEN;
	if (options->fail_on & FAIL_ON_INCONCLUSIVE && verdict == VERDICT_INCONCLUSIVE)
		return EXIT_INCONCLUSIVE;
	if (options->fail_on & FAIL_ON_DRIFT && setting_tally(report->plan).drifted)
		return EXIT_DRIFTED;
	return 0;
}

/* A report that nobody asked for is lost where standard error is closed, full or a pipe that nobody
 * reads: that is no reason to refuse the command, or to lose its exit status. */
static void add_default_report(struct options *options)
{
	options_add_sink(options, (struct report_sink){ .format = REPORT_TEXT, .fd = -1 });
	open_sinks(options, NULL);
}

int run_command(struct run *run, struct error *err)
{
	struct options *options = run->options;
	_cleanup_probe_ struct probe probe = { 0 };
	_cleanup_watch_ struct watch watch = {
		.sys = run->sys, .req = &options->req, .plan = &run->plan, .probe = &probe
	};
	const struct launch_hooks hooks = { watch_run, watch_before_exec, &watch };
	struct stream stream = { options, &probe.watch, &watch.warnings, false };
	_cleanup_journal_ struct journal journal = JOURNAL_INIT;
	struct load load = { 0 };
	struct launch_result result = { .exit_status = EXIT_CHISOL };
	struct launch_signals inherited;
	bool report_asked = options->n_sinks;
	struct run_report report = { .sys = run->sys,
		                     .req = &options->req,
		                     .plan = &run->plan,
		                     .result = &result,
		                     .interrupts = &watch.during,
		                     .probe = &probe,
		                     .load = &load,
		                     .run_id = run->id,
		                     .verbose = options->verbose };
	int rc, failed;

	if (can_exec_in_place(run)) {
		launch_in_place(run->sys, &options->req, &run->plan, &result.exit_status, err);
		return result.exit_status;
	}
	if (!report_asked)
		add_default_report(options);

	launch_hold_signals(&inherited);
	rc = apply(run, &journal, err);
	unlock(run);
	if (!rc)
		rc = load_begin(&load, &options->req, &watch.warnings, err);
	if (!rc)
		rc = probe_open(&probe, run->sys, &options->req, &run->plan, &journal, err);
	if (!rc)
		rc = stream_begin(&stream, &report, err);
	on_break_begin(&probe.on_break, run->sys, &options->req,
	               probe.watches ? &probe.watch : NULL, &watch.warnings);
	if (!rc)
		rc = launch_and_wait(run->sys, &options->req, &run->plan,
		                     journal.path ? &journal : NULL, &inherited, &hooks, &result,
		                     err);
	load_end(&load);
	if (journal.path)
		restore(run, &journal, &watch.warnings);

	report.warnings = watch.warnings;
	report.failure = rc ? err->text : NULL;
	if (rc) {
		write_reports(options, &report, NULL);
		return result.exit_status;
	}
	if (write_reports(options, &report, report_asked ? err : NULL) && report_asked)
		return EXIT_CHISOL;
	failed = result.wait_status == 0 ? failed_on(options, &report) : 0;
	probe_free(&probe);
	if (failed)
		exit(failed);
	launch_end_like(&result);
}
