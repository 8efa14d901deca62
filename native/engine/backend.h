/* SPDX-License-Identifier: Apache-2.0 */
/* The connection that a session currently uses. Only the session's own thread may call these functions. */
#ifndef QT_BACKEND_H
#define QT_BACKEND_H

#include "engine/engine_state.h"

const struct qt_engine_options *
qt_options_for(const struct qt_session *); /* connection options of the backend in use */
void qt_use_backend(struct qt_session *, int read_target);
/* Marks the connection as lost and stores the reason in session.broken. Returns 1 if the engine itself cut the
 * connection; *text then becomes the message to report. The caller must not free *text. */
int qt_session_mark_lost(struct qt_session *, const struct qt_answer *, const char **text);

#endif
