/* SPDX-License-Identifier: Apache-2.0 */
/* Which of two targets an event goes to. For the session's thread alone. */
#ifndef QT_READ_SPLIT_H
#define QT_READ_SPLIT_H

#include "engine/engine_state.h"

int qt_goes_to_read_target(struct qt_session *, const struct qt_planned_event *);
/* After an answer: what changes the session's state is done on the read target as well, and counted as injected. */
void qt_mirror_event(struct qt_session *, const struct qt_planned_event *);

#endif
