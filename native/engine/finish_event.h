/* SPDX-License-Identifier: Apache-2.0 */
/* The end of an event. Only the session's thread may call these functions, or the supervisor for a session without a
 * thread. Both functions free the event. */
#ifndef QT_ENGINE_FINISH_EVENT_H
#define QT_ENGINE_FINISH_EVENT_H

#include "engine/engine_state.h"

/* Finishes an event that was sent at `sent_ns`, with its `answer`. `sent_ns` and `due` are absolute. due is QT_NONE if
 * the pace has no due times. */
void qt_finish_event(struct qt_session *, struct qt_planned_event *, struct qt_answer *, int64_t due, int64_t sent_ns);
/* Finishes an event that is not sent. `answer` is the failed answer of its preparation, or NULL. */
void qt_refuse_event(struct qt_session *, struct qt_planned_event *, enum qt_reason, const struct qt_answer *answer);

#endif
