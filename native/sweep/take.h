/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QT_SWEEP_TAKE_H
#define QT_SWEEP_TAKE_H

#include "sweep/sweep_state.h"

/* The next event, by lo_ns, session, seq; it is copied. tx_first, tx_end: of the transaction that it is in, -1 = none.
 * is_own: it is its own commit even there. is_read: a plain read. */
void qt_sweep_take(struct qt_sweep *, const struct qt_event *, int64_t tx_first, int64_t tx_end, int is_own,
                   int is_read);

#endif
