/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Before the first write: would anything that is required be refused for lack of a privilege? The
 * kernel is asked, by access(2) on each file and by each task setting itself, so no list of
 * capabilities per file is kept here. What is only tried is not looked at: apply reports it.
 */
#ifndef ISOLCORE_PREFLIGHT_H
#define ISOLCORE_PREFLIGHT_H

#include "plan.h"

/* 0, or -errno with the sentence of the first that would be refused: what, where, and why. */
int plan_preflight(const struct plan *plan, const struct system *sys, struct error *err);

#endif
