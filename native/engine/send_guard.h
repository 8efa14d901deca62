/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what may be sent by the text itself: what a tape says of its statements is not believed. */
#ifndef QT_ENGINE_SEND_GUARD_H
#define QT_ENGINE_SEND_GUARD_H

#include "engine/engine_state.h"

struct qt_send_guard;

/* NULL when out of memory. The options, and what they point to, stay the caller's and have to last as long. */
struct qt_send_guard *qt_send_guard_new(const struct qt_engine_options *);
void qt_send_guard_free(struct qt_send_guard *); /* NULL does nothing */
/* May the event be sent? One thread at a time. NULL permits everything. */
int qt_may_send(const struct qt_send_guard *, const struct qt_planned_event *);

#endif
