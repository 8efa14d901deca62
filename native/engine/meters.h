/* SPDX-License-Identifier: Apache-2.0 */
/* What a run is measured by while it goes on, by class, cause and error number: noted by each session's thread, added
 * up when somebody asks. */
#ifndef QT_METERS_H
#define QT_METERS_H

#include "engine/state.h"

/* How many sessions, from the first on, may have counted something. */
int64_t qt_counting_sessions(struct qt_engine *);

/* For the session's thread alone: one event that was sent. Times are absolute; due may be QT_NONE, done 0 (no answer).
 * Before it is counted as executed. */
void qt_meter_event(struct qt_session *, const struct qt_planned_event *, int64_t due, int64_t sent, int64_t done);
/* Any thread. */
void qt_meter_error(struct qt_engine *, int32_t number);

#endif
