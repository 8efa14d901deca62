/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that starts and ends the sessions. */
#ifndef QT_SUPERVISOR_H
#define QT_SUPERVISOR_H

#include "engine/engine_state.h"

void *qt_supervisor_run(void *engine); /* joined by qt_engine_free */

#endif
