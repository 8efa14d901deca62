/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers marks and answers waits. A point added after qt_sweep_number_until(ns) must not be earlier than ns. */
#ifndef QT_SWEEP_NUMBERS_H
#define QT_SWEEP_NUMBERS_H

#include "sweep/sweep_state.h"

/* Adds the event as a mark at this moment. in_front: the event also waits for the previous mark. */
void qt_sweep_mark(struct qt_sweep *, struct qt_event *, int32_t table, enum qt_place_kind, int64_t ns, int in_front);
void qt_sweep_wait(struct qt_sweep *, struct qt_event *, int32_t table, enum qt_place_kind, int64_t until_ns);
/* Makes a locking statement of a transaction, or a statement of rule 8, wait for all marks of its tables before
 * until_ns. */
void qt_sweep_wait_all(struct qt_sweep *, struct qt_event *, int64_t until_ns);
/* Makes a commit on known tables wait for the commits of statements with unknown tables. */
void qt_sweep_wait_unknown(struct qt_sweep *, struct qt_event *, int64_t until_ns);
/* Makes the event wait for the commits that had ended by until_ns. */
void qt_sweep_read(struct qt_sweep *, struct qt_event *, int32_t table, int64_t until_ns);
/* Stores the waits of a transaction's first read for every table, because the tables of the transaction are known only
 * later. */
void qt_sweep_look(struct qt_sweep *, struct qt_tx *, int64_t seen_ns, int64_t locked_ns);
/* Finds when a statement that adds rows had its locks. */
void qt_sweep_grant(struct qt_sweep *, struct qt_event *);
void qt_sweep_number_until(struct qt_sweep *, int64_t ns);

#endif
