/* SPDX-License-Identifier: Apache-2.0 */
/* A session's queue, and how its thread sleeps. Only the session's thread may call these functions, or the supervisor
 * for a session without a thread. */
#ifndef QT_QUEUE_H
#define QT_QUEUE_H

#include "engine/engine_state.h"

struct qt_planned_event *
qt_session_take(struct qt_session *); /* the next queued event, NULL = none yet; the caller owns it */
struct qt_planned_event *qt_next_event(struct qt_session *); /* waits for the next event; NULL = no more events */
int qt_comes_within(struct qt_session *, int64_t ns); /* whether an event or the end of the feed comes within `ns` */
void qt_event_free(struct qt_session *, struct qt_planned_event *); /* also wakes the feeder if it waits for room */

int64_t qt_await_zero(struct qt_session *);                    /* returns zero, which an early stop also sets */
int64_t qt_sleep_until(struct qt_session *, int64_t until_ns); /* ends early on a stop; returns the current time */
/* Sleeps once and may wake early. Does not sleep if the speed has changed after `speed_seen` was read. */
void qt_sleep_once(struct qt_session *, int64_t until_ns, uint32_t speed_seen);

#endif
