/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "setting.h"

#include "../isolcore/facility.h"

#include <ctype.h>

size_t setting_count(const struct plan *plan)
{
	return plan->n_knobs + plan->n_tasks;
}

const char *setting_facility_name(const struct facility *facility)
{
	return facility ? facility->name : NULL;
}

struct setting setting_at(const struct plan *plan, size_t i)
{
	if (i < plan->n_knobs) {
		const struct knob *k = plan->knobs[i];

		return (struct setting){
			.knob = k,
			.name = k->name,
			.facility = setting_facility_name(k->facility),
			.why = k->why,
			.origin = k->origin,
			.path = k->path,
			.policy = k->policy,
			.asked = k->wanted,
			.found = k->found,
			.state = k->state,
			.granted = k->granted,
			.observed_state = k->observed_state,
			.observed = k->observed,
			.restored = k->restored,
			.restore_detail = k->restore_detail,
			.reason = k->reason,
			.detail = k->detail,
			.remedy = k->remedy,
		};
	} else {
		const struct task_setting *t = plan->tasks[i - plan->n_knobs];

		return (struct setting){
			.task = t,
			.name = t->name,
			.facility = setting_facility_name(t->facility),
			.why = t->why,
			.origin = t->origin,
			.policy = t->policy,
			.asked = t->wanted,
			.state = t->state,
			.granted = t->granted,
			.observed_state = t->observed_state,
			.observed = t->observed,
			.reason = t->reason,
			.detail = t->detail,
			.remedy =
				t->observed_state == OBSERVED_DRIFTED ? t->op->drift_remedy : NULL,
		};
	}
}

const char *setting_policy_name(enum policy policy)
{
	static const char *const names[] = {
		[POLICY_OFF] = "off",
		[POLICY_TRY] = "try",
		[POLICY_REQUIRE] = "require",
	};

	return names[policy];
}

bool setting_is_to_do(const struct setting *s)
{
	if (s->state != KNOB_PLANNED || !s->asked)
		return false;
	return !s->knob || s->knob->fresh || !knob_same(s->knob->type, s->found, s->asked);
}

const char *setting_observed_name(enum knob_observed observed)
{
	static const char *const names[] = {
		[OBSERVED_NOT] = "not-looked-at",
		[OBSERVED_KEPT] = "kept",
		[OBSERVED_DRIFTED] = "drifted",
	};

	return names[observed];
}

const char *setting_value(const char *value)
{
	if (!value)
		return "(none)";
	return *value ? value : "(empty)";
}

const char *setting_reason_meaning(const char *reason)
{
	const struct reason_row *row = reason_find(reason);

	return row ? row->meaning : "";
}

bool setting_reason_is_way(const char *reason)
{
	static const char *const ways[] = { REASON_BY_KERNEL, REASON_BY_PLACEMENT,
		                            REASON_BY_STAND_IN };

	for (size_t i = 0; reason && i < ARRAY_SIZE(ways); i++)
		if (!strcmp(reason, ways[i]))
			return true;
	return false;
}

struct setting_tally setting_tally(const struct plan *plan)
{
	struct setting_tally tally = { 0 };

	setting_for_each (s, plan) {
		tally.asked++;
		tally.state[s.state]++;
		tally.drifted += s.observed_state == OBSERVED_DRIFTED ||
		                 (s.reason && !strcmp(s.reason, REASON_NEW_IRQ));
		tally.restored[s.restored]++;
	}
	return tally;
}

const char *setting_verdict(const struct setting_tally *tally)
{
	if (tally->drifted)
		return "drifted";
	if (tally->state[KNOB_REFUSED] || tally->state[KNOB_UNAVAILABLE] ||
	    tally->state[KNOB_PLANNED])
		return "not-granted";
	return "kept";
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

struct numbered_name {
	int prefix;         /* length of what is before the number */
	const char *suffix; /* what is after it; NULL: no number that a mask could hold */
	unsigned int number;
};

static struct numbered_name numbered_name(const char *name)
{
	for (const char *part = name; part; part = strchr(part, '.')) {
		char *end;
		unsigned long number;

		part += *part == '.';
		if (!isdigit((unsigned char)*part))
			continue;
		number = strtoul(part, &end, 10);
		if ((*end == '.' || !*end) && number <= CPUMASK_MAX && end - part <= 7)
			return (struct numbered_name){ (int)(part - name), end,
				                       (unsigned int)number };
	}
	return (struct numbered_name){ 0, NULL, 0 };
}

static bool group_fits(const struct setting_group *group, const struct setting *s)
{
	const struct setting *first = &group->first;
	struct numbered_name a = numbered_name(first->name), b = numbered_name(s->name);

	return a.suffix && b.suffix && a.prefix == b.prefix &&
	       !strncmp(first->name, s->name, (size_t)a.prefix) && !strcmp(a.suffix, b.suffix) &&
	       first->state == s->state && first->observed_state == s->observed_state &&
	       first->restored == s->restored && same_text(first->reason, s->reason) &&
	       same_text(first->remedy, s->remedy);
}

static void keep_if_same(const char **value, const char *other)
{
	if (!same_text(*value, other))
		*value = NULL;
}

void setting_groups_add(struct setting_groups *groups, const struct setting *s, bool fold)
{
	struct setting_group *group = NULL;
	struct numbered_name name = numbered_name(s->name);

	for (size_t i = 0; fold && i < groups->n && !group; i++)
		if (group_fits(&groups->groups[i], s))
			group = &groups->groups[i];
	if (!group) {
		groups->groups = xgrow(groups->groups, groups->n + 1, &groups->room,
		                       sizeof(*groups->groups));
		group = &groups->groups[groups->n++];
		*group = (struct setting_group){ .first = *s };
	}
	group->n++;
	if (name.suffix)
		cpumask_set(&group->numbers, name.number);
	keep_if_same(&group->first.asked, s->asked);
	keep_if_same(&group->first.found, s->found);
	keep_if_same(&group->first.granted, s->granted);
	keep_if_same(&group->first.observed, s->observed);
	keep_if_same(&group->first.detail, s->detail);
	keep_if_same(&group->first.restore_detail, s->restore_detail);
}

void setting_groups_free(struct setting_groups *groups)
{
	for (size_t i = 0; i < groups->n; i++)
		cpumask_free(&groups->groups[i].numbers);
	free(groups->groups);
	*groups = (struct setting_groups)SETTING_GROUPS_INIT;
}

char *setting_group_name(const struct setting_group *group)
{
	struct numbered_name name = numbered_name(group->first.name);
	_cleanup_free_ char *list = NULL;

	if (group->n == 1)
		return xstrdup(group->first.name);
	list = cpumask_list(&group->numbers);
	return xasprintf("%.*s{%s}%s (%zu)", name.prefix, group->first.name, list, name.suffix,
	                 group->n);
}
