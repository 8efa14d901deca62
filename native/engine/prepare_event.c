/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares a session for its next event before the event is due. The session is idle then, so the preparation does not
 * delay the event:
 *
 *   select its schema ─► allow several statements ─► set clock and next insert id, if the plan requires it
 *   ─► send a COMMIT if the event implicitly ends a transaction ─► await the event's turn in the order of commits
 *   ─► select its schema when the event is due, if the schema did not exist before */
#include "engine/prepare_event.h"

#include <string.h>

#include <inttypes.h>
#include <stdio.h>

#include "engine/backend.h"
#include "engine/send_command.h"
#include "engine/commit_order.h"
#include "engine/connection.h"
#include "engine/pace.h"
#include "sql/own_clock.h"
#include "sql/split.h"

/* Handles the loss of the connection during an injected statement. */
static enum qt_reason mark_lost(struct qt_session *s, const struct qt_answer *a)
{
    const char *text = qt_connection_error(&s->backend->connection);
    qt_session_mark_lost(s, a, &text);
    return (enum qt_reason)s->broken;
}

static enum qt_reason select_schema(struct qt_session *s, const struct qt_planned_event *ev, struct qt_answer *a)
{
    if (ev->db == NULL || ev->db == s->backend->current_db || !qt_command_needs_schema(ev))
        return QT_EXECUTED;
    qt_connection_select_db(&s->backend->connection, ev->db, a);
    qt_bump(&s->injected);
    s->free_ns = qt_now();
    if (a->error == 0) {
        s->backend->current_db = ev->db;
        return QT_EXECUTED;
    }
    return a->lost ? mark_lost(s, a) : QT_SCHEMA_FAILED;
}

/* Sets the clock and the next insert id. The clock stays set after the event: resetting it would clear the diagnostics
 * area and ROW_COUNT(), which the next event may read. If the target refuses, the failure is counted. The event is
 * still sent, with the target's own clock and ids. */
static enum qt_reason set_overrides(struct qt_session *s, const struct qt_planned_event *ev)
{
    char sql[128] = "SET ";
    size_t at = 4;
    struct qt_answer a;
    int set_clock = ev->clock_us != QT_NONE && !s->backend->own_clock && ev->clock_us != s->backend->clock_us;

    if ((!set_clock && ev->insert_id == QT_NONE) || !qt_command_runs_sql(ev))
        return QT_EXECUTED;
    if (set_clock)
        at += (size_t)snprintf(sql + at, sizeof sql - at, "timestamp=%" PRId64 ".%06" PRId64, ev->clock_us / 1000000,
                               ev->clock_us % 1000000);
    if (ev->insert_id != QT_NONE)
        at += (size_t)snprintf(sql + at, sizeof sql - at, "%sinsert_id=%" PRId64, at > 4 ? "," : "", ev->insert_id);
    if (qt_connection_send(&s->backend->connection, sql, at, &a) == 0) {
        qt_connection_wait(&s->backend->connection, -1);
        qt_connection_receive(&s->backend->connection, &a);
    }
    qt_bump(&s->injected);
    s->free_ns = qt_now();
    if (a.lost)
        return mark_lost(s, &a);
    if (a.error != 0)
        qt_count(s->engine, QT_COUNT_OVERRIDES_FAILED, 1);
    else if (set_clock)
        s->backend->clock_us = ev->clock_us;
    return QT_EXECUTED;
}

/* Detects that the session sets its clock itself, or returns to the server's clock. */
static void follow_own_clock(struct qt_session *s, const struct qt_planned_event *ev)
{
    if (!(ev->flags & QT_F_TIMESTAMP) || ev->flags & QT_PLAN_FAILED || ev->len == SIZE_MAX)
        return;
    s->backend->own_clock = !qt_gives_clock_back((struct qt_span){ev->statement, ev->len});
    s->backend->clock_us = QT_NONE;
}

/* Allows a text with several statements. A log does not contain the client's capabilities. If such a text was logged
 * whole and did not fail, the client was able to send it. */
static enum qt_reason allow_several(struct qt_session *s, const struct qt_planned_event *ev)
{
    struct qt_answer a;
    if (s->client_flags != 0 || ev->command != QT_COMMAND_QUERY || ev->len == SIZE_MAX ||
        (ev->flags & QT_PLAN_FAILED) || !qt_holds_several(ev->statement, ev->len))
        return QT_EXECUTED;
    qt_count(s->engine, QT_COUNT_SEVERAL_STATEMENTS, 1);
    if (s->backend->several)
        return QT_EXECUTED;
    qt_connection_set_option(&s->backend->connection, 0, &a);
    qt_bump(&s->injected);
    s->free_ns = qt_now();
    if (a.lost)
        return mark_lost(s, &a);
    s->backend->several = a.error == 0;
    return QT_EXECUTED;
}

/* Handles statements that first end a transaction and then do more (DDL, LOCK TABLES). A separate COMMIT (UNLOCK TABLES
 * under LOCK TABLES) is sent first, so the session holds no locks while the statement waits for its own turn. */
static enum qt_reason commit_first(struct qt_session *s, const struct qt_planned_event *ev, struct qt_answer *a)
{
    struct qt_connection *c = &s->backends[0].connection;
    int unlocks = s->locks_tables && ev->actions & QT_ACTION_LOCK_TABLES; /* COMMIT does not free tables */
    const char *text = unlocks ? "UNLOCK TABLES" : "COMMIT";

    qt_await_turn(s, ev, ev->waits);
    if (s->in_tx || unlocks) {
        if (qt_connection_send(c, text, strlen(text), a) == 0) {
            qt_connection_wait(c, -1);
            qt_connection_receive(c, a);
        }
        qt_bump(&s->injected);
        s->free_ns = qt_now();
        if (a->lost)
            return mark_lost(s, a);
        s->in_tx = qt_connection_in_transaction(c);
        s->locks_tables &= !unlocks;
        if (!s->in_tx && !s->locks_tables)
            atomic_store(&s->unordered, QT_IN_ORDER);
    }
    qt_settle_turn(s->engine, ev->waits);
    return QT_EXECUTED;
}

enum qt_reason qt_prepare_event(struct qt_session *s, const struct qt_planned_event *ev, struct qt_answer *a)
{
    enum qt_reason why = select_schema(s, ev, a);
    int awaits_schema = why == QT_SCHEMA_FAILED && a->error == QT_NO_SUCH_SCHEMA;
    if (awaits_schema) { /* another session may create the schema before the event is due */
        why = QT_EXECUTED;
        a->error = 0;
    }
    if (why == QT_EXECUTED)
        why = allow_several(s, ev);
    if (why == QT_EXECUTED)
        why = set_overrides(s, ev);
    follow_own_clock(s, ev);
    if (why == QT_EXECUTED && ev->waits != NULL && qt_has_own_commit(ev->waits))
        why = commit_first(s, ev, a);
    if (why == QT_EXECUTED && ev->waits != NULL && a->error == 0)
        qt_await_turn(s, ev, qt_last_turn(ev->waits));
    if (why == QT_EXECUTED && awaits_schema && a->error == 0) {
        qt_sleep_until_due(s, ev);
        why = select_schema(s, ev, a);
    }
    return why;
}
