/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "task.h"

void task_judge(struct task_setting *t, enum knob_state state, const char *reason, const char *fmt,
                ...)
{
	char *detail = NULL;
	va_list ap;

	if (fmt) {
		va_start(ap, fmt);
		detail = xvasprintf(fmt, ap);
		va_end(ap);
	}
	free(t->detail);
	t->detail = detail;
	t->state = state;
	t->reason = reason;
}

void task_free(struct task_setting *t)
{
	if (t->op->free_data)
		t->op->free_data(t->data);
	free(t->name);
	free(t->wanted);
	free(t->detail);
	free(t->granted);
	free(t->observed);
	free(t);
}
