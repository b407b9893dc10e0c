/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "task.h"

void task_judge(struct task_setting *t, enum knob_state state, const char *reason, const char *fmt,
                ...)
{
	va_list ap;

	va_start(ap, fmt);
	xvreplace(&t->detail, fmt, ap);
	va_end(ap);
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
