/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the commands of the tape. For the session's thread alone. */
#ifndef QT_SEND_COMMAND_H
#define QT_SEND_COMMAND_H

#include "engine/engine_state.h"

/* Why the command cannot be sent as things are, or QT_EXECUTED. */
enum qt_reason qt_command_why_not_sendable(struct qt_session *, const struct qt_planned_event *);
int qt_command_needs_schema(const struct qt_planned_event *);
int qt_command_runs_sql(const struct qt_planned_event *);
/* Sends any but quit and takes its answer: QT_EXECUTED, or why nothing was sent. */
enum qt_reason qt_command_send(struct qt_session *, const struct qt_planned_event *, struct qt_answer *);

#endif
