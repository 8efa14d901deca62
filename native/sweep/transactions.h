/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions and their open transactions. A transaction is freed with its last reference. */
#ifndef QT_SWEEP_TRANSACTIONS_H
#define QT_SWEEP_TRANSACTIONS_H

#include "sweep/sweep_state.h"

/* Returns the session, which is added if it is new. Returns NULL when out of memory. */
struct qt_sweep_session *qt_sweep_session(struct qt_sweep *, int64_t id);
struct qt_tx *qt_sweep_new_tx(struct qt_sweep *, int64_t first_seq, int64_t end_seq); /* new, with one reference */
void qt_sweep_tx_release(struct qt_sweep *, struct qt_tx *);
void qt_sweep_note_tables(struct qt_sweep *, struct qt_tx *, const struct qt_event *);
int qt_sweep_has_locks(const struct qt_tx *);
/* Ends the transaction and drops its session's reference. No event of the transaction may follow. */
void qt_sweep_finish(struct qt_sweep *, struct qt_tx *);
/* Gives the first read its waits for tables that the transaction used later. Does nothing until these waits are
 * known. */
void qt_sweep_settle_reader(struct qt_sweep *, struct qt_tx *);
void qt_sweep_free_transactions(struct qt_sweep *); /* also frees the sessions */

#endif
