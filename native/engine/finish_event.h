/* SPDX-License-Identifier: Apache-2.0 */
/* The end of an event. For the session's thread (or, where it has none, the supervisor) alone; both free the event. */
#ifndef QT_ENGINE_FINISH_EVENT_H
#define QT_ENGINE_FINISH_EVENT_H

#include "engine/engine_state.h"

/* It was sent at `sent_ns` (absolute, as `due`; due QT_NONE = nothing is due at this pace); `answer`: what came. */
void qt_finish_event(struct qt_session *, struct qt_planned_event *, struct qt_answer *, int64_t due, int64_t sent_ns);
/* It is not sent. `answer`: of what was tried for it and failed just now, or NULL. */
void qt_refuse_event(struct qt_session *, struct qt_planned_event *, enum qt_reason, const struct qt_answer *answer);

#endif
