/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Closing trace events without waiting for it. The kernel waits at the end of each trace event that
 * nobody else uses for two grace periods of RCU, one event after the other
 * (perf_trace_event_unreg(), under event_mutex): a second and more for all.
 */
#ifndef PROBE_TRACE_CLOSE_H
#define PROBE_TRACE_CLOSE_H

#include "trace_events.h"

/*
 * Leaves the closing to a child named "chisol-close", which has nothing else open when this
 * returns, and ends with the last event: then trace_events_close() takes no time. It goes slowly
 * enough that a process that opens the same events gets its turn. Without a child, as when no more
 * processes are allowed, trace_events_close() waits.
 */
void trace_close_by_child(const struct trace_events *te);

#endif
