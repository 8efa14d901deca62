/* SPDX-License-Identifier: Apache-2.0 */
/* When an event is to be sent. */
#ifndef QT_PACE_H
#define QT_PACE_H

#include "engine/state.h"

int64_t qt_plan_to_clock(struct qt_engine *, int64_t plan_ns); /* absolute; after zero only; any thread */
/* For the session's thread alone. Absolute; QT_NONE = nothing is due at this pace. */
int64_t qt_compute_due(struct qt_session *, const struct qt_planned_event *);
int64_t qt_sleep_until_due(struct qt_session *,
                           const struct qt_planned_event *); /* or until a stop; returns the time */

#endif
