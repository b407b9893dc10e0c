/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe.h"

#include "hold.h"
#include "preload.h"
#include "../isolcore/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>

#define LOOP_GAPS 10 /* of each CPU, that are told with what happened in them */

int probe_check_options(const struct options *options, struct error *err)
{
	if (policy_asked(options->req.probe.policy))
		return 0;
	if (options->fail_on & (FAIL_ON_BROKEN | FAIL_ON_INCONCLUSIVE))
		return error_set(err, EINVAL,
		                 "--fail-on %s is about what the probe finds: add --probe",
		                 options->fail_on & FAIL_ON_BROKEN ? "broken" : "inconclusive");
	for (size_t i = 0; i < options->n_sinks; i++)
		if (options->sinks[i].format == REPORT_JSONL)
			return error_set(err, EINVAL,
			                 "--report jsonl tells the breaks that the probe finds: "
			                 "add --probe");
	return 0;
}

static void open_loops(struct probe *probe, const struct request *req)
{
	loop_watch_open(&probe->loops, probe->sys, &probe->record,
	                probe->watches ? &probe->watch : NULL, &req->cpus.workload, LOOP_GAPS);
}

/* Other runs go on meanwhile. A journal that cannot be read is told by --status. */
static void find_other_runs(struct cpumask *cpus, const struct system *sys)
{
	_cleanup_run_list_ struct run_list runs = RUN_LIST_INIT;

	if (!run_list_load(&runs, sys, NULL))
		run_list_cpus(&runs, sys, cpus);
}

int probe_open(struct probe *probe, const struct system *sys, const struct request *req,
               struct error *err)
{
	_cleanup_error_ struct error why = ERROR_INIT;
	_cleanup_cpumask_ struct cpumask others = CPUMASK_INIT;
	size_t n_held = 0;
	pid_t holder;
	int rc;

	probe->asked = policy_asked(req->probe.policy);
	if (!probe->asked)
		return 0;
	rc = record_make(&probe->record, err);
	if (rc)
		return rc;
	probe->sys = sys;
	holder = hold_find(sys, &n_held);
	find_other_runs(&others, sys);
	if (!trace_watch_open(&probe->watch, sys, &req->cpus.workload, &others,
	                      (size_t)req->probe.ring * 1024, &why)) {
		probe->watch.grace = req->verdict.grace * 1000000ull;
		probe->watches = true;
		/* Of another version it may hold fewer. */
		probe->holder = holder && n_held >= probe->watch.events.n_formats ? holder : 0;
		open_loops(probe, req);
		return 0;
	}
	if (req->probe.policy == POLICY_REQUIRE && request_origin(req, "probe.policy"))
		return error_move(err, &why);
	probe->unavailable = xstrdup(why.text);
	open_loops(probe, req);
	return 0;
}

static void leave_closing_to_child(struct probe *probe)
{
	int closed[2];
	char byte;

	if (pipe2(closed, O_CLOEXEC))
		return;
	if (!fork()) {
		prctl(PR_SET_NAME, "chisol-close");
		if (!chdir("/")) /* else it is done by the exit */
			trace_events_leave(&probe->watch.events);
		_exit(0);
	}
	/* Locks and pipes that chisol was started with are its own alone when it ends. */
	close(closed[1]);
	while (read(closed[0], &byte, 1) < 0 && errno == EINTR)
		;
	close(closed[0]);
}

void probe_free(struct probe *probe)
{
	if (probe->watches && !hold_find(probe->sys, NULL))
		leave_closing_to_child(probe);
	on_break_free(&probe->on_break);
	loop_watch_free(&probe->loops);
	trace_watch_free(&probe->watch);
	free(probe->unavailable);
	record_drop(&probe->record);
	*probe = (struct probe){ 0 };
}

void probe_before_exec(const struct probe *probe, const char *name)
{
	if (probe->record.record)
		preload_hand_over(&probe->record, NULL, false, name);
}

void probe_start(struct probe *probe, pid_t pid, uint64_t time)
{
	if (probe->watches)
		trace_watch_start(&probe->watch, pid, time);
}

void probe_read(struct probe *probe)
{
	if (probe->asked)
		loop_watch_read(&probe->loops);
}

void probe_finish(struct probe *probe, uint64_t time)
{
	if (probe->asked)
		loop_watch_finish(&probe->loops, time);
}

enum verdict_state probe_verdict(const struct probe *probe, const struct request *req)
{
	return probe->watches && probe->watch.ended ? verdict_of_all(&probe->watch, req)
	                                            : VERDICT_INCONCLUSIVE;
}
