/* SPDX-License-Identifier: Apache-2.0 */
/* Records: how each event of a session ended. A chunk of them belongs to its session until it is handed over, then to
 * engine.out, then to the reader of the outcomes, who gives it back. */
#ifndef QT_OUTCOMES_H
#define QT_OUTCOMES_H

#include "engine/engine_state.h"

enum { QT_ENOUGH_RECORDS = 8192 }; /* so many are worth a batch: the reader is told */

void qt_out_init(struct qt_engine *);
void qt_out_free(struct qt_engine *);
void qt_out_done(struct qt_engine *); /* no record will come any more; wakes the reader */

/* For the session's thread (or, where it has none, the supervisor) alone. */
/* A record with what every one has, to be filled; NULL when out of memory: the counters then still tell. */
struct qt_record *qt_record_new(struct qt_session *, const struct qt_planned_event *, int64_t now_ns);
void qt_records_hand_over(struct qt_session *); /* before a long wait, so that the reader gets them */

#endif
