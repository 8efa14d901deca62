/* SPDX-License-Identifier: Apache-2.0 */
/* Computes when to send an event. */
#ifndef QT_PACE_H
#define QT_PACE_H

#include "engine/engine_state.h"

/* A time that is never reached: about 70 years on CLOCK_MONOTONIC. */
#define QT_PAUSED (INT64_MAX / 4)

/* Converts plan time to absolute clock time. During a pause, future times are QT_PAUSED. Any thread may call it, but
 * only after the run's zero is set. */
int64_t qt_plan_to_clock(struct qt_engine *, int64_t plan_ns);
int64_t qt_stood_ns(struct qt_engine *); /* total pause of the plan until now; any thread, after zero is set */
int qt_is_paused(struct qt_engine *);    /* any thread may call it */
int64_t qt_clock_to_plan(struct qt_engine *, int64_t clock_ns); /* inverse of qt_plan_to_clock */
/* Returns the absolute due time of an event, or QT_NONE if the pace has no due times. Only the session's own thread may
 * call it. */
int64_t qt_compute_due(struct qt_session *, const struct qt_planned_event *);
int64_t qt_sleep_until_due(struct qt_session *,
                           const struct qt_planned_event *); /* ends at the due time or at a stop; returns the time */
void qt_sleep_until_open(struct qt_session *);               /* sleeps until a stop or until the session must connect */

#endif
