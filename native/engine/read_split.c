/* SPDX-License-Identifier: Apache-2.0 */
/* One workload on two targets. The target executes everything that writes. The read target only executes reads that the
 * plan allows.
 *
 *   a read outside a transaction, autocommit on ─► the read target
 *   changes of the session (SET, USE, PREPARE of a read, ...) ─► the target, and after its answer the read target
 *   everything else ─► the target
 *
 * The plan marks the statements that may go to the read target. The target reports whether a transaction is open. */
#include "engine/read_split.h"

#include <string.h>

#include "engine/backend.h"
#include "engine/pace.h"
#include "engine/send_command.h"
#include "engine/connection.h"
#include "engine/send_prepared.h"

int qt_goes_to_read_target(struct qt_session *s, const struct qt_planned_event *ev)
{
    struct qt_connection *read_target = &s->backends[1].connection;

    if (ev->command == QT_COMMAND_FETCH)
        return qt_connection_has_cursor(read_target, ev->stmt);
    if (!(ev->flags & QT_PLAN_FOR_READ_TARGET) || s->in_tx || s->pinned ||
        !qt_connection_autocommits(&s->backends[0].connection))
        return 0;
    return ev->command == QT_COMMAND_QUERY || ev->stmt < 0 || qt_connection_is_prepared(read_target, ev->stmt);
}

/* Temporary tables and table locks exist on one connection only, so the session must stay on that connection. START
 * TRANSACTION releases table locks. */
static void pin(struct qt_session *s, const struct qt_planned_event *ev)
{
    if (ev->command == QT_COMMAND_RESET_CONNECTION || ev->command == QT_COMMAND_CHANGE_USER)
        s->pinned = 0;
    if (ev->actions & (QT_ACTION_UNLOCK_TABLES | QT_ACTION_BEGIN))
        s->pinned &= ~QT_PINNED_BY_LOCKS;
    if (ev->actions & QT_ACTION_TEMPORARY_TABLE)
        s->pinned |= QT_PINNED_BY_TABLES;
    if (ev->actions & QT_ACTION_LOCK_TABLES)
        s->pinned |= QT_PINNED_BY_LOCKS;
}

void qt_mirror_event(struct qt_session *s, const struct qt_planned_event *ev)
{
    struct qt_answer a = {.error = 0};
    const char *text;

    if (s->engine->options.read_target == NULL || s->broken)
        return;
    pin(s, ev);
    if (!(ev->flags & QT_PLAN_FOR_BOTH))
        return;
    qt_use_backend(s, 1);
    if (qt_command_why_not_sendable(s, ev) == QT_EXECUTED && qt_command_send(s, ev, &a) == QT_EXECUTED)
        qt_bump(&s->injected);
    if (a.error != 0)
        qt_count(s->engine, QT_COUNT_READ_TARGET_ERRORS, 1);
    if (a.lost) {
        text = qt_connection_error(&s->backend->connection);
        qt_session_mark_lost(s, &a, &text);
    }
    qt_use_backend(s, 0);
    s->free_ns = s->answered_ns = qt_now();
    s->answered_stood_ns = qt_stood_ns(s->engine);
}
