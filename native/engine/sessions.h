/* SPDX-License-Identifier: Apache-2.0 */
/* The sessions, found by their numbers, and the names that their events share. The engine owns all of them. */
#ifndef QT_ENGINE_SESSIONS_H
#define QT_ENGINE_SESSIONS_H

#include "engine/engine_state.h"

/* Returns the only copy of a name (schema, character set or collation), so equal names are equal pointers. Returns NULL
 * when out of memory. Only the caller's thread may call it before the start, and only the feeder's thread later. */
const char *qt_intern(struct qt_engine *, const char *name, size_t len);
struct qt_session *qt_find_session(struct qt_engine *, int64_t id); /* NULL = unknown id; any thread after the start */
void qt_engine_sessions_free(struct qt_engine *); /* only after all threads have ended and all queues are empty */

#endif
