/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions, found by their numbers, and the names that their events share. The engine owns all of it. */
#ifndef QT_ENGINE_SESSIONS_H
#define QT_ENGINE_SESSIONS_H

#include "engine/engine_state.h"

/* The one copy of a schema's or character set's name: equal names are equal pointers. NULL when out of memory. By the
 * caller's thread before the start, by the feeder's after it. */
const char *qt_intern(struct qt_engine *, const char *name, size_t len);
struct qt_session *qt_find_session(struct qt_engine *,
                                   int64_t id);   /* NULL = there is none; any thread after the start */
void qt_engine_sessions_free(struct qt_engine *); /* after all threads; their queues are empty */

#endif
