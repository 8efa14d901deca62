/* SPDX-License-Identifier: Apache-2.0 */
/* The order of commits between sessions. The engine owns struct qt_order; NULL means that sessions are not ordered. */
#ifndef QT_COMMIT_ORDER_H
#define QT_COMMIT_ORDER_H

#include "engine/engine_state.h"

struct qt_order *qt_order_new(int32_t tables); /* NULL when out of memory */
void qt_order_free(struct qt_order *);
/* The turns of an event in the plan's format "waits;marks". Both parts are lists of "table:number". Some events first
 * end a transaction and then do more. They have two turns, separated by '|': the turn of the COMMIT and the event's own
 * turn. */
int qt_has_own_commit(const char *waits);
const char *qt_last_turn(const char *waits);
/* Sleeps until the turn comes, the run stops, or the wait is broken. Only the session's own thread may call it. */
void qt_await_turn(struct qt_session *, const struct qt_planned_event *, const char *turn);
/* Marks the commits of this turn as finished. Any thread may call it. */
void qt_settle_turn(struct qt_engine *, const char *turn);
/* Marks the event's commits as finished, because the event was answered or will never be sent. Sessions that wait for
 * these commits continue. Any thread may call it. */
void qt_settle_commits(struct qt_engine *, const struct qt_planned_event *);

#endif
