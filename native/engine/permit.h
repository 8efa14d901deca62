/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what may be sent by the text itself: what a tape says of its statements is not believed. */
#ifndef QT_PERMIT_H
#define QT_PERMIT_H

#include "engine/state.h"

struct qt_permit;

/* NULL when out of memory. The options, and what they point to, stay the caller's and have to last as long. */
struct qt_permit *qt_permit_new(const struct qt_engine_options *);
void qt_permit_free(struct qt_permit *); /* NULL does nothing */
/* May the event be sent? One thread at a time. NULL permits everything. */
int qt_is_permitted(const struct qt_permit *, const struct qt_planned_event *);

#endif
