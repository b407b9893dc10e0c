/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "leftovers.h"

void leftovers_note(void *ctx, const struct journal *run, const struct journal_record *record,
                    enum knob_restored restored, const char *detail)
{
	struct leftovers *leftovers = ctx;

	if (restored != RESTORE_FAILED)
		return;
	leftovers->all =
		xgrow(leftovers->all, leftovers->n + 1, &leftovers->room, sizeof(*leftovers->all));
	leftovers->all[leftovers->n++] = (struct leftover){
		.run_id = xstrdup(run->run_id),
		.command = xstrdup(run->command),
		.name = xstrdup(record->name),
		.path = xstrdup(record->path),
		.detail = xstrdup(detail),
	};
}

static void refuse(const struct leftover *left, struct plan *plan)
{
	plan_for_each (knob, plan) {
		if (!knob_is_planned(knob) || strcmp(knob->path, left->path) != 0)
			continue;
		knob_judge(knob, KNOB_REFUSED, REASON_RESTORE_FAILED,
		           "run %s was killed, and what it changed here cannot be put back: %s",
		           left->run_id, left->detail);
		free(knob->remedy);
		knob->remedy =
			xasprintf("put it back by hand, then \"chisol --forget %s\"", left->run_id);
	}
}

void leftovers_refuse(const struct leftovers *leftovers, struct plan *plan)
{
	for (size_t i = 0; i < leftovers->n; i++) {
		const struct leftover *left = &leftovers->all[i];
		size_t n = 1;

		refuse(left, plan);
		if (i && !strcmp(left[-1].run_id, left->run_id))
			continue;
		while (i + n < leftovers->n && !strcmp(left[n].run_id, left->run_id))
			n++;
		plan_note(plan, NULL, REASON_RESTORE_FAILED,
		          "run %s (%s) was killed, and %zu of its settings cannot be put back: %s: "
		          "%s; \"chisol --restore\" tries again, \"chisol --forget %s\" gives up",
		          left->run_id, left->command, n, left->name, left->detail, left->run_id);
	}
}

void leftovers_free(struct leftovers *leftovers)
{
	for (size_t i = 0; i < leftovers->n; i++) {
		free(leftovers->all[i].run_id);
		free(leftovers->all[i].command);
		free(leftovers->all[i].name);
		free(leftovers->all[i].path);
		free(leftovers->all[i].detail);
	}
	free(leftovers->all);
	*leftovers = (struct leftovers)LEFTOVERS_INIT;
}
