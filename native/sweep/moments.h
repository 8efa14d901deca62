/* SPDX-License-Identifier: Apache-2.0 */
/* Processes the steps of the sweep in the order of time. */
#ifndef QT_SWEEP_MOMENTS_H
#define QT_SWEEP_MOMENTS_H

#include "sweep/sweep_state.h"

/* Order of the steps at the same moment. */
enum qt_step { QT_SLOW_ENDS, QT_OWN_ENDS, QT_LOCKS_TAKEN, QT_WHOLE_ENDS, QT_TX_ENDS, QT_OWN_ARRIVES, QT_OPENS };

void qt_sweep_at(struct qt_sweep *, int64_t ns, enum qt_step, struct qt_event *, struct qt_tx *);
/* Marks the commits of a write outside of transactions, because the write's moment is now known. */
void qt_sweep_decide(struct qt_sweep *, struct qt_event *);
/* Begins a statement of rule 8. */
void qt_sweep_slow(struct qt_sweep *, struct qt_event *);
void qt_sweep_moments_until(struct qt_sweep *, int64_t ns);
/* Returns a lower bound for the moments of all later marks and waits. */
int64_t qt_sweep_moments_bound(const struct qt_sweep *);
/* Ends the tape: processes all remaining moments and ends the transactions that have no end on the tape. */
void qt_sweep_end(struct qt_sweep *);

#endif
