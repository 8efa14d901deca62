/* SPDX-License-Identifier: Apache-2.0 */
/* The order of commits between sessions. The engine owns the struct; NULL = sessions are not ordered. */
#ifndef QT_COMMIT_ORDER_H
#define QT_COMMIT_ORDER_H

#include "engine/engine_state.h"

struct qt_order *qt_order_new(int32_t tables); /* NULL when out of memory */
void qt_order_free(struct qt_order *);
/* An event's turn, as the plan writes it: "waits;marks", each a list of "place:number". What ends a transaction and
 * does more has two, apart by '|': that of its COMMIT, and its own. */
int qt_has_own_commit(const char *waits);
const char *qt_last_turn(const char *waits);
/* By the session's thread: sleeps until that turn, a stop, or the bound. */
void qt_await_turn(struct qt_session *, const struct qt_planned_event *, const char *turn);
/* What this turn marks is done. Any thread. */
void qt_settle_turn(struct qt_engine *, const char *turn);
/* The event was answered, or never will be sent: those who wait for its commit may go on. Any thread. */
void qt_settle_commits(struct qt_engine *, const struct qt_planned_event *);

#endif
