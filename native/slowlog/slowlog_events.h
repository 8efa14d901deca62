/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a slow log event by event. In the parsing thread. */
#ifndef QT_SLOWLOG_EVENTS_H
#define QT_SLOWLOG_EVENTS_H

#include "slowlog/slowlog_state.h"

/* Reads events into the batch until it is full or nothing is left. */
int qt_slow_read_events(struct qt_slowlog *, struct qt_error *);
/* Finds the time of the first event that has one; nothing else may be read from the log then. */
int qt_slow_peek_time(struct qt_slowlog *, int64_t *out_ns, struct qt_error *);

#endif
