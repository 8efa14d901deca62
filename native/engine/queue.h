/* SPDX-License-Identifier: Apache-2.0 */
/* A session's queue, and how its thread sleeps. For the session's thread (or, where it has none, the supervisor)
 * alone. */
#ifndef QT_QUEUE_H
#define QT_QUEUE_H

#include "engine/engine_state.h"

struct qt_planned_event *
qt_session_take(struct qt_session *); /* the next waiting event, NULL = none just now; the caller's */
struct qt_planned_event *qt_next_event(struct qt_session *); /* waits for it; NULL when there will be no more */
int qt_comes_within(struct qt_session *, int64_t ns); /* whether an event, or the end of the feed, comes in this time */
void qt_event_free(struct qt_session *, struct qt_planned_event *); /* and tells the feeder, where it waits for room */

int64_t qt_await_zero(struct qt_session *);                    /* zero is set even where the run is stopped before it */
int64_t qt_sleep_until(struct qt_session *, int64_t until_ns); /* or until a stop; returns the time */
/* One sleep, which may end early; none where the speed has changed since `speed_seen`. */
void qt_sleep_once(struct qt_session *, int64_t until_ns, uint32_t speed_seen);

#endif
