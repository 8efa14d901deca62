/* SPDX-License-Identifier: Apache-2.0 */
/* The timer probes' threads; by the supervisor alone. */
#ifndef QT_TIMER_PROBE_H
#define QT_TIMER_PROBE_H

#include "engine/state.h"

void qt_timer_probes_start(struct qt_engine *, int64_t zero_ns); /* fewer, or none, where the system gives no threads */
void qt_timer_probes_end(struct qt_engine *);                    /* joins them; their counts stay */

#endif
