/* SPDX-License-Identifier: Apache-2.0 */
/* The connection that a session uses just now. For its own thread alone. */
#ifndef QT_BACKEND_H
#define QT_BACKEND_H

#include "engine/engine_state.h"

const struct qt_engine_options *
qt_options_for(const struct qt_session *); /* what the backend in use is connected with */
void qt_use_backend(struct qt_session *, int read_target);
/* The connection is of no use any more: says why in session.broken. 1 where it was us who cut it; *text becomes what
 * is to be told, which stays somebody else's. */
int qt_session_mark_lost(struct qt_session *, const struct qt_answer *, const char **text);

#endif
