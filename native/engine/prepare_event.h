/* SPDX-License-Identifier: Apache-2.0 */
/* Brings a session into the state that an event needs, before it is due. For the session's thread alone. */
#ifndef QT_PREPARE_EVENT_H
#define QT_PREPARE_EVENT_H

#include "engine/engine_state.h"

/* QT_EXECUTED, or why the event can't be sent; after QT_SCHEMA_FAILED `answer` says how selecting its schema failed.
 * `answer` begins empty. With an error in it after QT_EXECUTED, the COMMIT in front failed: that is the event's. */
enum qt_reason qt_prepare_event(struct qt_session *, const struct qt_planned_event *, struct qt_answer *answer);

#endif
