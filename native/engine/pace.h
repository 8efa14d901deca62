/* SPDX-License-Identifier: Apache-2.0 */
/* When an event is to be sent. */
#ifndef QT_PACE_H
#define QT_PACE_H

#include "engine/engine_state.h"

/* A time that never comes: some 70 years from now. */
#define QT_PAUSED (INT64_MAX / 4)

/* Absolute; after zero only; any thread. What is still to come of a plan that is paused is QT_PAUSED. */
int64_t qt_plan_to_clock(struct qt_engine *, int64_t plan_ns);
int64_t qt_stood_ns(struct qt_engine *); /* how long the plan was paused until now; after zero only; any thread */
int qt_is_paused(struct qt_engine *);    /* any thread */
int64_t qt_clock_to_plan(struct qt_engine *, int64_t clock_ns); /* the other way round */
/* For the session's thread alone. Absolute; QT_NONE = nothing is due at this pace. */
int64_t qt_compute_due(struct qt_session *, const struct qt_planned_event *);
int64_t qt_sleep_until_due(struct qt_session *,
                           const struct qt_planned_event *); /* or until a stop; returns the time */
void qt_sleep_until_open(struct qt_session *);               /* until it is to connect, or a stop */

#endif
