/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers marks and answers waits. Nothing may come with a moment before what was asked for by number_until. */
#ifndef QT_SWEEP_NUMBERS_H
#define QT_SWEEP_NUMBERS_H

#include "sweep/sweep_state.h"

/* The event is a mark at this moment; in front: it waits for the one before it. */
void qt_sweep_mark(struct qt_sweep *, struct qt_event *, int32_t table, enum qt_place_kind, int64_t ns, int in_front);
void qt_sweep_wait(struct qt_sweep *, struct qt_event *, int32_t table, enum qt_place_kind, int64_t until_ns);
/* For a commit that has no number among those of which nothing is known. */
void qt_sweep_wait_unknown(struct qt_sweep *, struct qt_event *, int64_t until_ns);
/* Of the commits, it waits for those that had ended. */
void qt_sweep_read(struct qt_sweep *, struct qt_event *, int32_t table, int64_t until_ns);
/* Keeps what the first read of a transaction waits for on each table: which tables it is about is known later. */
void qt_sweep_look(struct qt_sweep *, struct qt_tx *, int64_t seen_ns, int64_t locked_ns);
/* The statement adds rows: finds when it had its locks. */
void qt_sweep_grant(struct qt_sweep *, struct qt_event *);
void qt_sweep_number_until(struct qt_sweep *, int64_t ns);

#endif
