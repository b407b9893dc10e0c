/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "request.h"

#include <errno.h>

#include "cgroup_claims.h"
#include "cgroup_world.h"
#include "cpulist.h"
#include "profile_keys.h"

void request_init(struct request *req)
{
	*req = (struct request){ .origins = xcalloc(n_profile_keys, sizeof(*req->origins)) };
	for (unsigned int i = 0; i < n_profile_keys; i++)
		if (profile_keys[i].default_text)
			profile_key_set(req, i, profile_keys[i].default_text, GIVEN_NOT, NULL,
			                false, NULL);
}

void request_free(struct request *req)
{
	for (unsigned int i = 0; i < n_profile_keys && req->origins; i++) {
		const struct profile_key *key = &profile_keys[i];

		free(req->origins[i].text);
		if (key->type == KEY_TEXT || key->type == KEY_CPUS)
			free(*(char **)((char *)req + key->offset));
	}
	free(req->origins);
	free(req->profile.names);
	cpumask_free(&req->cpus.workload);
	cpumask_free(&req->cpus.housekeeping);
	*req = (struct request){ 0 };
}

static enum policy policy_of(const struct request *req, const struct profile_section *section)
{
	return *(const enum policy *)((const char *)req + section->policy);
}

/* The key of "irq.threads", or -1. */
static int key_index(const char *section_dot_key)
{
	const char *dot = strchr(section_dot_key, '.');
	bool is_key = dot && !strchr(dot + 1, '.');
	_cleanup_free_ char *section =
		is_key ? xstrndup(section_dot_key, (size_t)(dot - section_dot_key)) : NULL;

	return is_key ? profile_key_index(section, dot + 1) : -1;
}

const char *request_origin(const struct request *req, const char *section_dot_key)
{
	int i = key_index(section_dot_key);

	return i < 0 ? NULL : req->origins[i].text;
}

/* Of the first of the section's keys that were given most explicitly; of nobody, if none was. */
static const struct request_origin *section_origin(const struct request *req, const char *section)
{
	static const struct request_origin nobody;
	const struct request_origin *best = &nobody;

	for (unsigned int i = 0; i < n_profile_keys; i++)
		if (!strcmp(profile_keys[i].section, section) &&
		    req->origins[i].given > best->given)
			best = &req->origins[i];
	return best;
}

const char *request_section_origin(const struct request *req, const char *section)
{
	return section_origin(req, section)->text;
}

static const struct request_origin *policy_origin(const struct request *req, const char *section)
{
	return &req->origins[profile_key_index(section, "policy")];
}

/*
 * Off until one of the section's keys is given. An option of its own means "require", whatever a
 * profile says; only --set SECTION.policy=... is more explicit than that.
 */
static enum policy section_policy(const struct request *req, const struct profile_section *section)
{
	enum policy said = policy_of(req, section);
	enum given policy_given = policy_origin(req, section->name)->given;
	enum given given = section_origin(req, section->name)->given;

	if (policy_given == GIVEN_SET)
		return said;
	if (given == GIVEN_OPTION)
		return POLICY_REQUIRE;
	if (policy_given != GIVEN_NOT)
		return said;
	if (given == GIVEN_NOT)
		return POLICY_OFF;
	return section->must ? POLICY_REQUIRE : req->profile.policy;
}

static int settle_policies(struct request *req, struct error *err)
{
	for (const struct profile_section *s = profile_sections; s->name && s->supported; s++) {
		enum policy *policy = (enum policy *)((char *)req + s->policy);

		if (policy == &req->profile.policy)
			continue;
		*policy = section_policy(req, s);
		if (s->must && *policy == POLICY_TRY)
			return error_set(err, EINVAL,
			                 "%s: %s.policy cannot be \"try\": the command would run "
			                 "with more privileges than asked for; it takes require or "
			                 "off",
			                 policy_origin(req, s->name)->text, s->name);
	}
	return 0;
}

static int settle_isolation(struct request *req, struct error *err)
{
	if (!policy_asked(req->task_isolation.policy))
		return 0;
	if (req->task_isolation.activate && !req->task_isolation.quiesce)
		return error_set(err, EINVAL,
		                 "%s: there is nothing to activate, because nothing is to be "
		                 "quiesced: add -q vmstat_sync",
		                 request_origin(req, "task_isolation.activate"));
	if (req->task_isolation.activate && req->task_isolation.oneshot)
		return error_set(err, EINVAL,
		                 "%s: activating does not go with task_isolation.oneshot (%s): "
		                 "chisol's own next system call would spend the one quiesce before "
		                 "the command starts",
		                 request_origin(req, "task_isolation.activate"),
		                 request_origin(req, "task_isolation.oneshot"));
	if (req->task_isolation.threads && !req->task_isolation.quiesce)
		return error_set(err, EINVAL,
		                 "%s: there is nothing to activate, because nothing is to be "
		                 "quiesced: add -q vmstat_sync",
		                 request_origin(req, "task_isolation.threads"));
	if (req->task_isolation.threads &&
	    (!policy_asked(req->probe.policy) || req->probe.mode != PROBE_THREAD))
		return error_set(err, EINVAL,
		                 "%s: task_isolation.threads is done by libisolprobe in the "
		                 "command: add --probe=thread",
		                 request_origin(req, "task_isolation.threads"));
	if (req->task_isolation.accept == ACCEPT_AUTO) {
		const struct request_origin *origin = policy_origin(req, "task_isolation");
		bool explicit =
			origin->given != GIVEN_NOT && req->task_isolation.policy == POLICY_REQUIRE;

		req->task_isolation.accept = explicit ? ACCEPT_KERNEL : ACCEPT_STAND_IN;
	}
	return 0;
}

/* The CPUs of the cpuset that chisol is in; empty if there is none. */
static void own_cpuset(struct cpumask *cpus, const struct system *sys)
{
	_cleanup_cgroup_world_ struct cgroup_world world = { 0 };
	_cleanup_free_ char *group = NULL;

	if (cgroup_world_read(&world, sys, NULL) || world.kind == CGROUP_NONE)
		return;
	group = xasprintf("%s%s", world.mount, world.own);
	cgroup_effective_above(cpus, sys, group, world.mount);
}

static int parse_cpus(struct cpumask *cpus, const struct request *req, const char *key,
                      const char *text, const struct system *sys, const struct cpumask *allowed,
                      struct error *err)
{
	const struct request_origin *origin = &req->origins[key_index(key)];

	if (!cpulist_parse(cpus, text, sys, allowed, err))
		return 0;
	if (origin->given == GIVEN_OPTION)
		return error_prefix(err, "%s", origin->text);
	return error_prefix(err, "%s: %s", origin->text, key);
}

static int asked_workload(struct request *req, const struct system *sys, struct error *err)
{
	_cleanup_cpumask_ struct cpumask mask = CPUMASK_INIT, allowed = CPUMASK_INIT;
	int rc = parse_cpus(&req->cpus.workload, req, "cpus.workload", req->cpus.workload_text, sys,
	                    NULL, err);

	/* A group of its own may have more CPUs than the one that chisol is in. */
	if (rc || !sys->root.live || policy_asked(req->cgroup.policy) ||
	    req->cpus.policy != POLICY_REQUIRE)
		return rc;
	/* What the mask allows the cpuset allows, too, and to ask for the cpuset takes longer. */
	if (!cpumask_get_affinity(&mask, 0) && cpumask_subset(&req->cpus.workload, &mask))
		return 0;
	own_cpuset(&allowed, sys);
	if (cpumask_empty(&allowed))
		return 0;
	return parse_cpus(&req->cpus.workload, req, "cpus.workload", req->cpus.workload_text, sys,
	                  &allowed, err);
}

static int default_workload(struct cpumask *cpus, const struct system *sys, struct error *err)
{
	int rc = 0;

	cpumask_copy(cpus, &sys->machine.isolated);
	cpumask_and(cpus, &sys->machine.online);
	if (!cpumask_empty(cpus))
		return 0;
	if (sys->root.live)
		rc = cpumask_get_affinity(cpus, 0);
	else
		cpumask_copy(cpus, &sys->machine.online);
	return rc ? error_errno(err, -rc, "cannot read chisol's own CPU affinity") : 0;
}

bool request_changes_machine(const struct request *req)
{
	for (const struct profile_section *s = profile_sections; s->name; s++)
		if (s->machine && policy_asked(policy_of(req, s)))
			return true;
	return false;
}

/* The first section that is asked for and needs housekeeping CPUs, or NULL. */
static const char *needs_housekeeping(const struct request *req)
{
	for (const struct profile_section *s = profile_sections; s->name; s++)
		if (s->needs_housekeeping && policy_asked(policy_of(req, s)))
			return s->name;
	return NULL;
}

static int no_housekeeping(const struct request *req, const struct system *sys, const char *section,
                           struct error *err)
{
	_cleanup_free_ char *workload = cpumask_list(&req->cpus.workload);

	if (!req->cpus.asked && cpumask_equal(&req->cpus.workload, &sys->machine.online))
		return error_set(err, EINVAL,
		                 "[%s] needs CPUs to move other work to, but the command may use "
		                 "all of CPUs %.200s: name its CPUs with -c",
		                 section, workload);
	return error_set(err, EINVAL,
	                 "[%s] needs CPUs to move other work to, but CPUs %.200s (%s)%s leave none "
	                 "that is online, not isolated and not used by another run: leave at least "
	                 "one",
	                 section, workload,
	                 req->cpus.asked ? request_origin(req, "cpus.workload")
	                                 : "where chisol may run",
	                 req->cpus.housekeeping_text ? " and cpus.housekeeping" : "");
}

static int settle_cpus(struct request *req, const struct system *sys, const struct cpumask *taken,
                       struct error *err)
{
	_cleanup_cpumask_ struct cpumask named = CPUMASK_INIT;
	struct cpumask *housekeeping = &req->cpus.housekeeping;
	const char *section = needs_housekeeping(req);
	int rc;

	req->cpus.asked = req->cpus.workload_text;
	if (req->cpus.asked)
		rc = asked_workload(req, sys, err);
	else
		rc = default_workload(&req->cpus.workload, sys, err);
	if (rc)
		return rc;

	cpumask_copy(housekeeping, &sys->machine.online);
	cpumask_andnot(housekeeping, &req->cpus.workload);
	cpumask_andnot(housekeeping, &sys->machine.isolated);
	if (taken)
		cpumask_andnot(housekeeping, taken);
	if (req->cpus.housekeeping_text) {
		rc = parse_cpus(&named, req, "cpus.housekeeping", req->cpus.housekeeping_text, sys,
		                NULL, err);
		if (rc)
			return rc;
		cpumask_and(housekeeping, &named);
	}
	req->cpus.claimed = section;
	if (section && cpumask_empty(housekeeping))
		return no_housekeeping(req, sys, section, err);
	return 0;
}

static int settle_probe(const struct request *req, struct error *err)
{
	if (!policy_asked(req->probe.policy) || req->probe.mode != PROBE_THREAD ||
	    !request_origin(req, "probe.on_break") || !strcmp(req->probe.on_break, "none"))
		return 0;
	return error_set(err, EINVAL,
	                 "%s: probe.on_break is about single breaks, which --probe=thread (%s) "
	                 "does not see: use --probe=watch",
	                 request_origin(req, "probe.on_break"), request_origin(req, "probe.mode"));
}

static int settle_load(const struct request *req, struct error *err)
{
	if (!policy_asked(req->load.policy) || req->load.command)
		return 0;
	return error_set(err, EINVAL, "%s: [load] needs a command: set load.command",
	                 request_section_origin(req, "load"));
}

int request_settle(struct request *req, struct error *err)
{
	int rc = settle_policies(req, err);

	if (!rc)
		rc = settle_isolation(req, err);
	if (!rc)
		rc = settle_load(req, err);
	return rc ? rc : settle_probe(req, err);
}

int request_resolve(struct request *req, const struct system *sys, const struct cpumask *taken,
                    struct error *err)
{
	int rc = request_settle(req, err);

	return rc ? rc : settle_cpus(req, sys, taken, err);
}
