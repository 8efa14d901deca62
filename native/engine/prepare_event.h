/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a session into the state that an event needs, before the event is due. Only the session's own thread may call
 * it. */
#ifndef QT_PREPARE_EVENT_H
#define QT_PREPARE_EVENT_H

#include "engine/engine_state.h"

/* Returns QT_EXECUTED, or the reason why the event cannot be sent. `answer` must be empty at the call. After
 * QT_SCHEMA_FAILED it contains the error of selecting the schema. If `answer` contains an error after QT_EXECUTED, the
 * separate COMMIT failed. This error is then the event's answer. */
enum qt_reason qt_prepare_event(struct qt_session *, const struct qt_planned_event *, struct qt_answer *answer);

#endif
