/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the target of an event. Only the session's own thread may call these functions. */
#ifndef QT_READ_SPLIT_H
#define QT_READ_SPLIT_H

#include "engine/engine_state.h"

int qt_goes_to_read_target(struct qt_session *, const struct qt_planned_event *);
/* Called after an answer. If the event changes the session's state, repeats it on the read target and counts it as
 * injected. */
void qt_mirror_event(struct qt_session *, const struct qt_planned_event *);

#endif
