/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "holders.h"

static int compare_knob(const struct journal_record *a, const struct journal_record *b)
{
	int order = strcmp(a->path, b->path);

	return order ? order : strcmp(a->type->name, b->type->name);
}

static int compare_holder(const void *a, const void *b)
{
	const struct holder *m = a, *n = b;
	int order = compare_knob(m->record, n->record);

	if (order)
		return order;
	/* Both runs are elements of one list, which is in their order. */
	return m->run < n->run ? -1 : m->run > n->run;
}

void holders_above(struct holders *holders, const struct journal *self, const struct run_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct journal *run = &list->runs[i];

		if (run->order <= self->order || strcmp(run->boot_id, self->boot_id) != 0)
			continue;
		for (size_t k = 0; k < run->n_records; k++) {
			holders->all = xgrow(holders->all, holders->n + 1, &holders->room,
			                     sizeof(*holders->all));
			holders->all[holders->n++] = (struct holder){ run, &run->records[k] };
		}
	}
	if (holders->n)
		qsort(holders->all, holders->n, sizeof(*holders->all), compare_holder);
}

void holders_free(struct holders *holders)
{
	free(holders->all);
	*holders = (struct holders)HOLDERS_INIT;
}

size_t holders_of(const struct holders *holders, const struct journal_record *record,
                  const struct holder **first)
{
	size_t low = 0, high = holders->n, n = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_knob(holders->all[middle].record, record) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + n < holders->n && !compare_knob(holders->all[low + n].record, record))
		n++;
	*first = n ? &holders->all[low] : NULL;
	return n;
}
