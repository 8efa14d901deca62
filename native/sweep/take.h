/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QT_SWEEP_TAKE_H
#define QT_SWEEP_TAKE_H

#include "sweep/sweep_state.h"

/* Takes a copy of the next event, in the order of lo_ns, session, seq. tx_first and tx_end are the first and the last
 * seq of its transaction; -1 = none. is_own: the event is its own commit, even inside a transaction. is_read: the event
 * is a plain read. */
void qt_sweep_take(struct qt_sweep *, const struct qt_event *, int64_t tx_first, int64_t tx_end, int is_own,
                   int is_read);

#endif
