/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe.h"

#include "hold.h"
#include "preload.h"
#include "../isolcore/runs.h"
#include "../probe/trace_close.h"

#include <errno.h>

#define LOOP_GAPS 10  /* of each CPU, that are told with what happened in them */
#define POLL_MS   200 /* a ring of 4 MiB takes about 200,000 events a second */

int probe_check_options(const struct options *options, struct error *err)
{
	if (policy_asked(options->req.probe.policy))
		return 0;
	if (options->fail_on & (FAIL_ON_BROKEN | FAIL_ON_INCONCLUSIVE))
		return error_set(err, EINVAL,
		                 "--fail-on %s is about what the probe finds: add --probe",
		                 options->fail_on & FAIL_ON_BROKEN ? "broken" : "inconclusive");
	for (size_t i = 0; i < options->n_sinks; i++)
		if (options->sinks[i].format > REPORT_JSON)
			return error_set(
				err, EINVAL, "--report %s tells what the probe finds: add --probe",
				options->sinks[i].format == REPORT_JSONL ? "jsonl" : "oslat-json");
	return 0;
}

/* Other runs go on meanwhile. A journal that cannot be read is told by --status. */
static void find_other_runs(struct cpumask *cpus, const struct system *sys,
                            const struct journal *own)
{
	_cleanup_run_list_ struct run_list runs = RUN_LIST_INIT;

	if (!run_list_load(&runs, sys, own, NULL))
		run_list_cpus(&runs, sys, cpus);
}

static int open_watch(struct probe *probe, const struct system *sys, const struct request *req,
                      const struct journal *own, struct error *err)
{
	_cleanup_error_ struct error why = ERROR_INIT;
	_cleanup_cpumask_ struct cpumask others = CPUMASK_INIT;
	size_t n_held = 0;
	pid_t holder = hold_find(sys, &n_held);

	find_other_runs(&others, sys, own);
	if (!trace_watch_open(&probe->watch, sys, &req->cpus.workload, &others,
	                      (size_t)req->probe.ring * 1024, &why)) {
		probe->watch.grace = req->verdict.grace * 1000000ull;
		probe->watches = true;
		/* Of another version it may hold fewer. */
		probe->holder = holder && n_held >= probe->watch.events.formats.n ? holder : 0;
		return 0;
	}
	if (req->probe.mode == PROBE_WATCH && req->probe.policy == POLICY_REQUIRE &&
	    request_origin(req, "probe.policy"))
		return error_move(err, &why);
	probe->unavailable = xstrdup(why.text);
	return 0;
}

int probe_open(struct probe *probe, const struct system *sys, const struct request *req,
               const struct plan *plan, const struct journal *own, struct error *err)
{
	int rc;

	probe->asked = policy_asked(req->probe.policy);
	if (!probe->asked)
		return 0;
	probe->sys = sys;
	rc = record_make(&probe->record, err);
	if (!rc && req->probe.mode != PROBE_THREAD)
		rc = open_watch(probe, sys, req, own, err);
	if (rc)
		return rc;
	loop_watch_open(&probe->loops, sys, &probe->record, probe->watches ? &probe->watch : NULL,
	                &req->cpus.workload, LOOP_GAPS);
	if (probe->watches || req->probe.mode == PROBE_WATCH)
		return 0;
	probe->follows = true;
	return thread_probe_open(&probe->threads, sys, req, plan, &probe->record, err);
}

void probe_free(struct probe *probe)
{
	if (probe->watches && !hold_find(probe->sys, NULL))
		trace_close_by_child(&probe->watch.events);
	on_break_free(&probe->on_break);
	loop_watch_free(&probe->loops);
	trace_watch_free(&probe->watch);
	free(probe->unavailable);
	thread_probe_free(&probe->threads);
	record_drop(&probe->record);
	*probe = (struct probe){ 0 };
}

void probe_before_exec(const struct probe *probe, const char *name)
{
	if (probe->watches)
		trace_events_before_exec(&probe->watch.events);
	if (probe->record.record)
		preload_hand_over(&probe->record, probe->threads.library, probe->follows, name);
}

void probe_start(struct probe *probe, pid_t pid, uint64_t time)
{
	if (probe->watches)
		trace_watch_start(&probe->watch, pid, time);
	if (probe->follows)
		thread_probe_start(&probe->threads, pid);
}

unsigned int probe_read(struct probe *probe)
{
	if (probe->asked)
		loop_watch_read(&probe->loops);
	return probe->follows ? thread_probe_read(&probe->threads) : probe->asked ? POLL_MS : 0;
}

void probe_finish(struct probe *probe, uint64_t time)
{
	if (probe->asked)
		loop_watch_finish(&probe->loops, time);
	if (probe->follows && probe->threads.pid)
		thread_probe_finish(&probe->threads);
}

enum verdict_state probe_verdict(const struct probe *probe, const struct request *req)
{
	if (probe->watches && probe->watch.ended)
		return verdict_of_all(&probe->watch, req);
	if (probe->follows && probe->threads.ended)
		return followed_verdict(&probe->threads.followed, req);
	return VERDICT_INCONCLUSIVE;
}
