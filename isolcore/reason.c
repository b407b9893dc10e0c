/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reason.h"

#include "mem.h"

#include <errno.h>

#define REASON_DEFINE(id, code, meaning) const char REASON_##id[] = code;
REASONS(REASON_DEFINE)

#define REASON_ROW(id, code, meaning) { REASON_##id, meaning },
const struct reason_row reason_table[] = { REASONS(REASON_ROW) };
const unsigned int n_reasons = ARRAY_SIZE(reason_table);

const struct reason_row *reason_find(const char *code)
{
	for (unsigned int i = 0; code && i < n_reasons; i++)
		if (!strcmp(reason_table[i].code, code))
			return &reason_table[i];
	return NULL;
}

static const struct {
	int err;
	const char *reason;
} errno_reasons[] = {
	{ EACCES, REASON_NOT_PERMITTED }, { EPERM, REASON_NOT_PERMITTED },
	{ EROFS, REASON_READ_ONLY },      { ENOENT, REASON_ABSENT },
	{ ENOTDIR, REASON_ABSENT },       { ENODEV, REASON_ABSENT },
	{ ESRCH, REASON_ABSENT },         { EINVAL, REASON_INVALID_VALUE },
	{ ERANGE, REASON_INVALID_VALUE }, { EOVERFLOW, REASON_INVALID_VALUE },
	{ EBUSY, REASON_BUSY },
};

const char *reason_of_errno(int err)
{
	for (size_t i = 0; i < ARRAY_SIZE(errno_reasons); i++)
		if (errno_reasons[i].err == err)
			return errno_reasons[i].reason;
	return REASON_IO_ERROR;
}

bool errno_is_absent(int err)
{
	return reason_of_errno(err) == REASON_ABSENT;
}
