/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reason.h"

#include "mem.h"

#define REASON_DEFINE(id, code, meaning) const char REASON_##id[] = code;
REASONS(REASON_DEFINE)

#define REASON_ROW(id, code, meaning) { REASON_##id, meaning },
const struct reason_row reason_table[] = { REASONS(REASON_ROW) };
const unsigned int n_reasons = ARRAY_SIZE(reason_table);
