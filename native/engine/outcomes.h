/* SPDX-License-Identifier: Apache-2.0 */
/* Records: the outcomes of a session's events. A chunk of records belongs to its session until it is handed over to
 * engine.out. The reader of the outcomes then takes the chunk and returns it after use. */
#ifndef QT_OUTCOMES_H
#define QT_OUTCOMES_H

#include "engine/engine_state.h"

enum { QT_ENOUGH_RECORDS = 8192 }; /* records that fill a batch: the reader is woken */

void qt_out_init(struct qt_engine *);
void qt_out_free(struct qt_engine *);
void qt_out_done(struct qt_engine *); /* no more records will come; wakes the reader */

/* Only the session's thread may call these functions, or the supervisor for a session without a thread. */
/* Returns a new record with the common fields set. Returns NULL when out of memory; the counters still include the
 * event. */
struct qt_record *qt_record_new(struct qt_session *, const struct qt_planned_event *, int64_t now_ns);
void qt_records_hand_over(struct qt_session *); /* called before a long wait, so that the reader gets the records */

#endif
