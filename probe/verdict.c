/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verdict.h"

void verdict_say(struct verdict *verdict, enum verdict_state state, char *sentence)
{
	namelist_take(&verdict->reasons, sentence);
	if (state > verdict->state)
		verdict->state = state;
}

/* Breaks that count. */
static struct break_count counted(const struct watched_cpu *cpu, const struct request *req)
{
	struct break_count count = cpu->foreign;

	if (!(req->verdict.ignore & VERDICT_IGNORE_SELF))
		break_count_add(&count, &cpu->self);
	return count;
}

static void judge_breaks(struct verdict *verdict, const struct watched_cpu *cpu,
                         const struct trace_watch *tw, const struct request *req)
{
	struct break_count count = counted(cpu, req);
	bool has_gap = request_origin(req, "verdict.max_gap");
	bool has_budget = request_origin(req, "verdict.budget_ppm");
	bool has_breaks = request_origin(req, "verdict.max_breaks") || (!has_gap && !has_budget);
	double window = (double)(tw->ended - tw->began) - (double)tw->grace;
	double ppm = window > 0 ? (double)count.total / window * 1e6 : 0;

	if (has_breaks && count.n > req->verdict.max_breaks)
		verdict_say(verdict, VERDICT_BROKEN,
		            xasprintf("%llu breaks, %u allowed", (unsigned long long)count.n,
		                      req->verdict.max_breaks));
	if (has_gap && count.longest > req->verdict.max_gap * 1000ull)
		verdict_say(verdict, VERDICT_BROKEN,
		            xasprintf("a break of %.1f us, %u us allowed",
		                      (double)count.longest / 1e3, req->verdict.max_gap));
	if (has_gap && cpu->loop_longest > req->verdict.max_gap * 1000ull)
		verdict_say(verdict, VERDICT_BROKEN,
		            xasprintf("a gap of %.1f us in a loop of the command, %u us allowed",
		                      (double)cpu->loop_longest / 1e3, req->verdict.max_gap));
	if (has_budget && ppm > req->verdict.budget_ppm)
		verdict_say(verdict, VERDICT_BROKEN,
		            xasprintf("%.1f ppm of the time lost, %u ppm allowed", ppm,
		                      req->verdict.budget_ppm));
}

void verdict_of_cpu(struct verdict *verdict, const struct watched_cpu *cpu,
                    const struct trace_watch *tw, const struct request *req)
{
	*verdict = (struct verdict){ .state = VERDICT_KEPT };
	judge_breaks(verdict, cpu, tw, req);
	if (cpu->lost)
		verdict_say(verdict, VERDICT_INCONCLUSIVE,
		            xasprintf("%llu or more trace events were lost: raise probe.ring",
		                      (unsigned long long)cpu->lost));
	if (tw->events.lost_elsewhere)
		verdict_say(
			verdict, VERDICT_INCONCLUSIVE,
			xasprintf(
				"%llu or more trace events of other CPUs were lost: whose doing a "
				"break was is not certain",
				(unsigned long long)tw->events.lost_elsewhere));
	if (cpu->unseen.n)
		verdict_say(
			verdict, VERDICT_INCONCLUSIVE,
			xasprintf(
				"the kernel told nothing of %llu stretches of time in which a task "
				"ran, %.1f us together",
				(unsigned long long)cpu->unseen.n,
				(double)cpu->unseen.total / 1e3));
	if (cpu->loop_unseen)
		verdict_say(verdict, VERDICT_INCONCLUSIVE,
		            xasprintf("%llu gaps of its loop are the kernel's, and no event tells "
		                      "of them",
		                      (unsigned long long)cpu->loop_unseen));
	if (100 * (1 - cpu->loop_blind) < req->verdict.min_coverage)
		verdict_say(verdict, VERDICT_INCONCLUSIVE,
		            xasprintf("its loop was watched for %.2f %% of its time, %u %% wanted",
		                      100 * (1 - cpu->loop_blind), req->verdict.min_coverage));
	if (cpu->went_offline)
		verdict_say(verdict, VERDICT_INCONCLUSIVE, xstrdup("the CPU went offline"));
	if (tw->events.clock_steps)
		verdict_say(verdict, VERDICT_INCONCLUSIVE,
		            xasprintf("the clock of the trace events went back %llu times",
		                      (unsigned long long)tw->events.clock_steps));
	if (verdict->state == VERDICT_KEPT && !cpu->used)
		verdict_say(verdict, VERDICT_UNUSED, xstrdup("no thread of the command ran on it"));
}

enum verdict_state verdict_both(enum verdict_state a, enum verdict_state b)
{
	if (a == VERDICT_UNUSED || b == VERDICT_UNUSED)
		return a == VERDICT_UNUSED ? b : a;
	return a > b ? a : b;
}

enum verdict_state verdict_of_all(const struct trace_watch *tw, const struct request *req)
{
	enum verdict_state all = VERDICT_UNUSED;

	for (size_t i = 0; i < tw->n_cpus; i++) {
		_cleanup_verdict_ struct verdict one;

		verdict_of_cpu(&one, &tw->cpus[i], tw, req);
		all = verdict_both(all, one.state);
	}
	return all == VERDICT_UNUSED ? VERDICT_INCONCLUSIVE : all;
}

const char *verdict_name(enum verdict_state state)
{
	static const char *const names[] = {
		[VERDICT_KEPT] = "kept",
		[VERDICT_UNUSED] = "unused",
		[VERDICT_INCONCLUSIVE] = "inconclusive",
		[VERDICT_BROKEN] = "broken",
	};

	return names[state];
}

char *verdict_words(const struct verdict *verdict)
{
	char *words = xstrdup(verdict_name(verdict->state));

	for (size_t i = 0; i < verdict->reasons.n; i++)
		xappend(&words, "%s %s", i ? ";" : ":", verdict->reasons.names[i]);
	return words;
}

void verdict_free(struct verdict *verdict)
{
	namelist_free(&verdict->reasons);
}
