/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions, and the transaction that each has open. A transaction is freed with its last reference. */
#ifndef QT_SWEEP_TRANSACTIONS_H
#define QT_SWEEP_TRANSACTIONS_H

#include "sweep/sweep_state.h"

/* NULL when out of memory. */
struct qt_sweep_session *qt_sweep_session(struct qt_sweep *, int64_t id);
struct qt_tx *qt_sweep_new_tx(struct qt_sweep *, int64_t first_seq, int64_t end_seq); /* with one reference */
void qt_sweep_tx_release(struct qt_sweep *, struct qt_tx *);
void qt_sweep_note_tables(struct qt_sweep *, struct qt_tx *, const struct qt_event *);
int qt_sweep_has_locks(const struct qt_tx *);
/* Nothing of it comes any more: its session's reference goes. */
void qt_sweep_finish(struct qt_sweep *, struct qt_tx *);
/* Gives its first read the waits for the tables behind it, once all is known. */
void qt_sweep_settle_reader(struct qt_sweep *, struct qt_tx *);
void qt_sweep_free_transactions(struct qt_sweep *); /* and sessions */

#endif
