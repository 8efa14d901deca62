/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the commands of the tape. Only the session's own thread may call these functions. */
#ifndef QT_SEND_COMMAND_H
#define QT_SEND_COMMAND_H

#include "engine/engine_state.h"

/* Returns QT_EXECUTED, or the reason why the command cannot be sent now. */
enum qt_reason qt_command_why_not_sendable(struct qt_session *, const struct qt_planned_event *);
int qt_command_needs_schema(const struct qt_planned_event *);
int qt_command_runs_sql(const struct qt_planned_event *);
/* Sends any command except quit and receives its answer. Returns QT_EXECUTED, or the reason why nothing was sent. */
enum qt_reason qt_command_send(struct qt_session *, const struct qt_planned_event *, struct qt_answer *);

#endif
