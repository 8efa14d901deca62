/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements during a run, by class, cause and error number. Each session's thread records them, and the reader adds
 * them up. */
#ifndef QT_STATS_H
#define QT_STATS_H

#include "engine/engine_state.h"

/* Returns n if only the first n sessions may have counted something. */
int64_t qt_counting_sessions(struct qt_engine *);

/* Records one sent event, before it is counted as executed. Times are absolute. due may be QT_NONE, and done is 0 if
 * there was no answer. Only the session's own thread may call it. */
void qt_meter_event(struct qt_session *, const struct qt_planned_event *, int64_t due, int64_t sent, int64_t done);
/* Counts an error number. Any thread may call it. */
void qt_meter_error(struct qt_engine *, int32_t number);

/* Estimates how many of the fed events are due by a time of the plan, in bounded memory. */
struct qt_due_counts *qt_due_counts_new(void); /* NULL when out of memory; the caller frees it */
void qt_due_counts_free(struct qt_due_counts *);

/* Adds an event. Times are relative to the run's zero. Any thread may call it. */
void qt_due_note(struct qt_due_counts *, int64_t due_ns);
/* Returns the number of events that are due by plan_ns. Inside a bucket the events are assumed to be evenly spread. A
 * bucket is at most a 2048th of the time until the last due event. */
int64_t qt_due_by(struct qt_due_counts *, int64_t plan_ns);

/* Starts and ends the timer probes. Only the supervisor may call these functions. */
void qt_timer_probes_start(struct qt_engine *, int64_t zero_ns); /* fewer or none if the system refuses threads */
void qt_timer_probes_end(struct qt_engine *);                    /* joins the probes; their counts remain */

#endif
