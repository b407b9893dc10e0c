/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Task isolation for threads that do not ask for it themselves. It acts on the calling thread only,
 * so each thread is activated from within: when it begins, when it names itself, or, if another one
 * named it, when it next calls a function of calls.c. Numbers of prctl calls come from the orders:
 * chisol has established them (isolcore/isol_prctl.h).
 */
#include "preload.h"

#include <errno.h>
#include <fnmatch.h>
#include <sys/syscall.h>

#include "../../isolcore/isol_prctl.h"

static long isol_call(const struct record_orders *orders, enum isol_call call, unsigned long arg2,
                      unsigned long arg3, unsigned long arg4, unsigned long arg5)
{
	return preload_syscall(SYS_prctl, (long)orders->isol_base + call, (long)arg2, (long)arg3,
	                       (long)arg4, (long)arg5, 0);
}

/* The form of v6 first, as isol_set_quiesce() does; v4 takes its selector for a pointer. */
static long configure(const struct record_orders *orders)
{
	struct task_isol_quiesce_control control = { .quiesce_mask = orders->isol_quiesce };
	unsigned long address = (unsigned long)&control;
	long rc = -EFAULT;

	if (orders->isol_abi != ISOLATION_ABI_V4)
		rc = isol_call(orders, ISOL_CFG_SET, I_CFG_FEAT, ISOL_F_QUIESCE, QUIESCE_CONTROL,
		               address);
	if (rc == -EFAULT && orders->isol_abi != ISOLATION_ABI_V6)
		rc = isol_call(orders, ISOL_CFG_SET, I_CFG_FEAT, ISOL_F_QUIESCE, address, 0);
	return rc;
}

static void activate(const struct record_orders *orders, struct record_thread *self)
{
	uint64_t features = ISOL_F_QUIESCE;
	long rc = configure(orders);

	if (!rc)
		rc = isol_call(orders, ISOL_ACTIVATE_SET, (unsigned long)&features, 0, 0, 0);
	self->isol_errno = (uint32_t)-rc;
	self->isolation = rc ? RECORD_ISOL_REFUSED : RECORD_ISOL_ACTIVE;
}

static bool is_named(const struct record_orders *orders, const char *name)
{
	for (uint32_t i = 0; i < orders->n_patterns && i < RECORD_NAMES; i++)
		if (!fnmatch(orders->patterns[i], name, 0))
			return true;
	return false;
}

void isolate_if_named(const struct record *record, struct record_thread *self, const char *name)
{
	if (self && self->isolation != RECORD_ISOL_ACTIVE && is_named(&record->orders, name))
		activate(&record->orders, self);
}

void isolate_later(struct record *record, pthread_t other, const char *name)
{
	if (!is_named(&record->orders, name))
		return;
	for (size_t i = 0; i < RECORD_THREADS; i++) {
		struct record_thread *t = &record->threads[i];

		if (__atomic_load_n(&t->handle, __ATOMIC_SEQ_CST) == (uint64_t)other &&
		    !(t->flags & RECORD_ENDED) && t->isolation != RECORD_ISOL_ACTIVE)
			__atomic_store_n(&t->isolation, RECORD_ISOL_PENDING, __ATOMIC_RELEASE);
	}
}

void isolate_if_pending(const struct record *record, struct record_thread *self)
{
	if (self && __atomic_load_n(&self->isolation, __ATOMIC_ACQUIRE) == RECORD_ISOL_PENDING)
		activate(&record->orders, self);
}
