/* SPDX-License-Identifier: Apache-2.0 */
/* What a run is measured by while it goes on, by class, cause and error number: noted by each session's thread, added
 * up when somebody asks. */
#ifndef QT_STATS_H
#define QT_STATS_H

#include "engine/engine_state.h"

/* How many sessions, from the first on, may have counted something. */
int64_t qt_counting_sessions(struct qt_engine *);

/* For the session's thread alone: one event that was sent. Times are absolute; due may be QT_NONE, done 0 (no answer).
 * Before it is counted as executed. */
void qt_meter_event(struct qt_session *, const struct qt_planned_event *, int64_t due, int64_t sent, int64_t done);
/* Any thread. */
void qt_meter_error(struct qt_engine *, int32_t number);

/* How many of the events that were fed are due at some time of the plan, in bounded memory. */
struct qt_due_counts *qt_due_counts_new(void); /* NULL when out of memory; the caller frees it */
void qt_due_counts_free(struct qt_due_counts *);

/* Any thread. Times are from the run's zero. */
void qt_due_note(struct qt_due_counts *, int64_t due_ns);
/* How many of those noted are due by then; within a bucket (a 2048th of the time until the last one, or less) it is
 * taken that they come evenly. */
int64_t qt_due_by(struct qt_due_counts *, int64_t plan_ns);

/* The timer probes' threads; by the supervisor alone. */
void qt_timer_probes_start(struct qt_engine *, int64_t zero_ns); /* fewer, or none, where the system gives no threads */
void qt_timer_probes_end(struct qt_engine *);                    /* joins them; their counts stay */

#endif
