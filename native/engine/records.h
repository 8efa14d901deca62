/* SPDX-License-Identifier: Apache-2.0 */
/* Records: how each event of a session ended. A chunk of them belongs to its session until it is handed over, then to
 * engine.out, then to the reader of the outcomes, who gives it back. */
#ifndef QT_RECORDS_H
#define QT_RECORDS_H

#include "engine/state.h"

enum { QT_ENOUGH_RECORDS = 8192 }; /* so many are worth a batch: the reader is told */

void qt_out_init(struct qt_engine *);
void qt_out_free(struct qt_engine *);
void qt_out_done(struct qt_engine *); /* no record will come any more; wakes the reader */

/* For the session's thread (or, where it has none, the supervisor) alone. */
/* A record with what every one has, to be filled; NULL when out of memory: the counters then still tell. */
struct qt_record *qt_record_new(struct qt_session *, const struct qt_planned_event *, int64_t now_ns);
void qt_records_hand_over(struct qt_session *); /* before a long wait, so that the reader gets them */

/* For the reader of the outcomes. */
void qt_chunks_free(struct qt_chunk *); /* a list, with the texts of its records */

static inline int qt_out_wait(pthread_cond_t *cond, pthread_mutex_t *lock,
                              int64_t until_ns) /* 0 = the time has passed */
{
    struct timespec t = {.tv_sec = until_ns / QT_SECOND, .tv_nsec = until_ns % QT_SECOND};
    return pthread_cond_timedwait(cond, lock, &t) == 0;
}

#endif
