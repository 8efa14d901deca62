/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what may be sent. The decision uses only the text itself, because the tape's own classification is not
 * trusted. */
#ifndef QT_ENGINE_SEND_GUARD_H
#define QT_ENGINE_SEND_GUARD_H

#include "engine/engine_state.h"

struct qt_send_guard;

/* Returns NULL when out of memory. The caller keeps the options and all their texts until the guard is freed. */
struct qt_send_guard *qt_send_guard_new(const struct qt_engine_options *);
void qt_send_guard_free(struct qt_send_guard *); /* NULL is allowed */
/* Returns whether the event may be sent. A NULL guard permits everything. Only one thread at a time may use a guard. */
int qt_may_send(const struct qt_send_guard *, const struct qt_planned_event *);

#endif
