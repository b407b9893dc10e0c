/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "preload.h"

#include <dlfcn.h>
#include <string.h>

static void copy_string(char *to, size_t size, const char *from)
{
	strncpy(to, from ? from : "", size - 1);
}

/* The call is before the address that it returns to. */
static void resolve(struct record_call *call)
{
	const char *address = (const char *)(uintptr_t)call->site - 1;
	Dl_info info;

	if (!dladdr(address, &info))
		return;
	copy_string(call->object, sizeof(call->object), info.dli_fname);
	copy_string(call->symbol, sizeof(call->symbol), info.dli_sname);
	call->offset = (uint64_t)(address - (const char *)info.dli_fbase);
	__atomic_store_n(&call->resolved, 1, __ATOMIC_RELEASE);
}

void resolve_sites(struct record *record)
{
	for (size_t i = 0; i < RECORD_CALLS; i++) {
		struct record_call *call = &record->calls[i];

		if (__atomic_load_n(&call->kind, __ATOMIC_ACQUIRE) && !call->resolved)
			resolve(call);
	}
}
