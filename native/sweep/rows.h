/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the sweep. An event becomes a row when its last point is done. The sweep owns the events. */
#ifndef QT_SWEEP_ROWS_H
#define QT_SWEEP_ROWS_H

#include "sweep/sweep_state.h"

/* Returns an array with room for n + 1 items of `size` bytes. Returns `old` when out of memory. */
void *qt_sweep_grown(struct qt_sweep *, void *old, size_t *room, size_t n, size_t size);
void qt_list_add(struct qt_list *, struct qt_event *);
void qt_list_remove(struct qt_list *, struct qt_event *);
struct qt_event *qt_sweep_new_event(struct qt_sweep *, const struct qt_event *); /* a copy; NULL when out of memory */
void qt_sweep_event_done(struct qt_sweep *, struct qt_event *);                  /* one point of the event is done */
void qt_sweep_add(struct qt_sweep *, struct qt_pairs *, int32_t table, enum qt_place_kind, int64_t number);
void qt_sweep_clear(struct qt_sweep *); /* frees all except transactions and sessions */

#endif
