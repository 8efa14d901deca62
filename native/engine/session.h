/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of one session. */
#ifndef QT_SESSION_H
#define QT_SESSION_H

#include "engine/engine_state.h"

void *qt_session_run(void *session); /* the supervisor joins the thread after the session is in threads.ended_list */

#endif
