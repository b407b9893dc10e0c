/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --info: what this kernel and machine offer. It looks, and calls nothing but the task isolation
 * interface's own questions, and those only where the interface is.
 */
#ifndef CHISOL_INFO_H
#define CHISOL_INFO_H

#include "report.h"

/* Of the request only task_isolation.prctl_base and abi count. 0 or -errno. */
int info_print(enum report_format format, const struct system *sys, const struct request *req,
               FILE *out, struct error *err);

#endif
