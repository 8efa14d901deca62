/* SPDX-License-Identifier: Apache-2.0 */
/* What happens at which moment, in the order of time. */
#ifndef QT_SWEEP_MOMENTS_H
#define QT_SWEEP_MOMENTS_H

#include "sweep/sweep_state.h"

/* At one moment the first comes first. */
enum qt_step { QT_OWN_ENDS, QT_LOCKS_TAKEN, QT_WHOLE_ENDS, QT_TX_ENDS, QT_OWN_ARRIVES, QT_OPENS };

void qt_sweep_at(struct qt_sweep *, int64_t ns, enum qt_step, struct qt_event *, struct qt_tx *);
/* The moment of a write of its own is known. */
void qt_sweep_decide(struct qt_sweep *, struct qt_event *);
void qt_sweep_moments_until(struct qt_sweep *, int64_t ns);
/* No mark or wait comes any more with a moment before this. */
int64_t qt_sweep_moments_bound(const struct qt_sweep *);
/* The tape has ended: so have all moments, and transactions whose end is not on it. */
void qt_sweep_end(struct qt_sweep *);

#endif
