/* SPDX-License-Identifier: Apache-2.0 */
/* The order of commits between sessions. The engine owns the struct; NULL = sessions are not ordered. */
#ifndef QT_COMMIT_ORDER_H
#define QT_COMMIT_ORDER_H

#include "engine/state.h"

struct qt_order *qt_order_new(int32_t tables); /* NULL when out of memory */
void qt_order_free(struct qt_order *);
/* By the session's thread: sleeps until the event's turn, a stop, or the bound. */
void qt_await_turn(struct qt_session *, const struct qt_planned_event *);
/* The event was answered, or never will be sent: those who wait for its commit may go on. Any thread. */
void qt_settle_commits(struct qt_engine *, const struct qt_planned_event *);

#endif
