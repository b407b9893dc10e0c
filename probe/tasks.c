/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tasks.h"

#define PID_MAX   4194304
#define WORD_BITS (8 * sizeof(unsigned long))

bool tasks_has(const struct tasks *tasks, pid_t tid)
{
	size_t word = (size_t)tid / WORD_BITS;

	return tid > 0 && word < tasks->n && tasks->words[word] >> (size_t)tid % WORD_BITS & 1;
}

void tasks_add(struct tasks *tasks, pid_t tid)
{
	size_t word = (size_t)tid / WORD_BITS;

	if (tid <= 0 || tid > PID_MAX)
		return;
	if (word >= tasks->n) {
		tasks->words = xgrow(tasks->words, word + 1, &tasks->room, sizeof(*tasks->words));
		memset(tasks->words + tasks->n, 0, (word + 1 - tasks->n) * sizeof(*tasks->words));
		tasks->n = word + 1;
	}
	tasks->words[word] |= 1ul << (size_t)tid % WORD_BITS;
}

void tasks_forked(struct tasks *tasks, pid_t parent, pid_t child)
{
	if (tasks_has(tasks, parent))
		tasks_add(tasks, child);
	else if (child != tasks->first && tasks_has(tasks, child))
		tasks->words[(size_t)child / WORD_BITS] &= ~(1ul << (size_t)child % WORD_BITS);
}

void tasks_free(struct tasks *tasks)
{
	free(tasks->words);
	*tasks = (struct tasks){ 0 };
}
