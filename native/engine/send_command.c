/* SPDX-License-Identifier: Apache-2.0 */
/* Sends each command of the tape on the connection of its session:
 *
 *   send ─► receive at once (direct_answer.c), else await the answer ─► receive
 *              │ longer than half a second: the session hands over its records
 *              │ longer than statement_timeout_ns: KILL QUERY on a second connection */
#include "engine/send_command.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "engine/backend.h"
#include "engine/call_variables.h"
#include "engine/connection.h"
#include "engine/direct_answer.h"
#include "engine/local_files.h"
#include "engine/send_prepared.h"
#include "engine/outcomes.h"
#include "engine/sessions.h"

#define KILL_WAIT_MS 5000              /* a stop does not end this wait */
#define LONG_WAIT_MS QT_DIRECT_WAIT_MS /* before a longer wait, records are handed over */

static void ignore_socket(void *self, int fd)
{
    (void)self;
    (void)fd;
}

/* Sends KILL QUERY on a separate connection. The statement then fails with error 1317 (MariaDB also 1969 or 3024). */
static void kill_statement(struct qt_session *s)
{
    struct qt_engine *e = s->engine;
    struct qt_connection own = {.opened = ignore_socket, .self = s, .fd = -1};
    struct qt_answer a;
    char sql[64];
    int len = snprintf(sql, sizeof sql, "KILL QUERY %" PRId64, s->backend->thread_id);

    qt_count(e, QT_COUNT_TIMEOUTS, 1);
    if (qt_connection_open(&own, qt_options_for(s), &(struct qt_login){.account = s->backend->account}) == 0 &&
        qt_connection_send(&own, sql, (size_t)len, &a) == 0 && qt_connection_wait(&own, KILL_WAIT_MS))
        qt_connection_receive(&own, &a);
    qt_connection_close(&own);
}

/* Waits for an answer. `waited` is set if LONG_WAIT_MS have already passed. */
static void await_answer(struct qt_session *s, int waited)
{
    int64_t limit = s->engine->options.statement_timeout_ns, left_ms = limit / 1000000;

    if (limit > 0 && left_ms <= LONG_WAIT_MS) {
        if (qt_connection_wait(&s->backend->connection, (int)left_ms))
            return;
        kill_statement(s);
    } else if (!waited && qt_connection_wait(&s->backend->connection, LONG_WAIT_MS)) {
        return;
    }
    qt_records_hand_over(s);
    if (left_ms > LONG_WAIT_MS) {
        left_ms -= LONG_WAIT_MS;
        if (qt_connection_wait(&s->backend->connection, left_ms > INT_MAX ? INT_MAX : (int)left_ms))
            return;
        kill_statement(s);
    }
    qt_connection_wait(&s->backend->connection, -1);
}

static void receive_answer(struct qt_session *s, struct qt_answer *a)
{
    struct qt_connection *c = &s->backend->connection;
    int waited = 0;

    if (c->direct != NULL && s->engine->options.statement_timeout_ns <= 0) {
        if (qt_direct_receive(c, a))
            return;
        waited = 1;
    }
    await_answer(s, waited);
    qt_connection_receive(c, a);
}

static void note_use(struct qt_session *s, const struct qt_planned_event *ev, const struct qt_answer *a)
{
    if ((ev->flags & QT_F_USE) && a->error == 0)
        s->backend->current_db = ev->db;
}

/* Repeats a failed CALL with variables. Server logs record a CALL with values in places where the server only accepts
 * variables. Used only for a CALL that succeeded on the tape. */
static void call_with_variables(struct qt_session *s, const struct qt_planned_event *ev, struct qt_answer *a)
{
    struct qt_connection *c = &s->backend->connection;
    struct qt_bytes set = {.len = 0}, call = {.len = 0};
    if (qt_call_with_variables(&set, &call, ev->statement, ev->len) == 0) {
        qt_count(s->engine, QT_COUNT_CALLED_WITH_VARIABLES, 1);
        qt_bump(&s->injected);
        if (qt_connection_send(c, set.p, set.len, a) == 0)
            receive_answer(s, a);
        if (a->error == 0 && qt_connection_send(c, call.p, call.len, a) == 0)
            receive_answer(s, a);
    }
    qt_bytes_free(&set);
    qt_bytes_free(&call);
}

static enum qt_reason send_query(struct qt_session *s, const struct qt_planned_event *ev, struct qt_answer *a)
{
    struct qt_connection *c = &s->backend->connection;
    struct qt_span own;
    if (qt_local_files_provide(c, ev->params, ev->params_len, &own) != 0) {
        qt_local_files_forget(c);
        return QT_PARAMS_MISMATCH;
    }
    int has_attributes = own.len > 1 && own.p[0] == 'A';
    struct qt_span attributes = {has_attributes ? own.p + 1 : NULL, has_attributes ? own.len - 1 : 0};
    if (has_attributes && !c->named)
        qt_connection_count(c, QT_COUNT_QUERY_ATTRIBUTES_DROPPED, 1);
    if (qt_connection_send_with(c, attributes, ev->statement, ev->len, a) == 0)
        receive_answer(s, a);
    qt_local_files_forget(c);
    if (a->error == QT_ER_NOT_A_VARIABLE && !(ev->flags & QT_PLAN_FAILED))
        call_with_variables(s, ev, a);
    note_use(s, ev, a);
    return QT_EXECUTED;
}

/* Ends a session of this engine, or only its statement. Sends KILL with the session's connection id on the target. */
static enum qt_reason kill_session(struct qt_session *s, const struct qt_planned_event *ev, struct qt_answer *a)
{
    /* When the engine follows a tape, the session table may change during the search. */
    struct qt_session *killed = ev->stmt >= 0 && !s->engine->options.follows ? qt_find_session(s->engine, ev->stmt)
                                                                             : NULL;
    int64_t id = killed != NULL ? atomic_load(&killed->target_id) : -1;
    int only_query = ev->len == 5 && memcmp(ev->statement, "QUERY", 5) == 0;
    char sql[64];
    int len = snprintf(sql, sizeof sql, "KILL %s%" PRId64, only_query ? "QUERY " : "", id);

    if (id < 0)
        return QT_KILL_TARGET_UNKNOWN;
    if (qt_connection_send(&s->backend->connection, sql, (size_t)len, a) == 0)
        receive_answer(s, a);
    return QT_EXECUTED;
}

static int send_execute(struct qt_session *s, const struct qt_planned_event *ev, struct qt_answer *a)
{
    struct qt_connection *c = &s->backend->connection;
    struct qt_span own;
    int code = qt_local_files_provide(c, ev->params, ev->params_len, &own);
    if (code == 0)
        code = qt_connection_send_execute(c, ev->stmt, ev->params + (own.p - ev->params), own.len, a);
    if (code == 0) {
        await_answer(s, 0);
        qt_connection_receive_execute(c, a);
    }
    qt_local_files_forget(c);
    if (code == 0)
        note_use(s, ev, a);
    return code > 0;
}

static int is_text(const struct qt_planned_event *ev) /* an Execute of a log has the values in its text */
{
    return ev->command == QT_COMMAND_QUERY ||
           (ev->command == QT_COMMAND_EXECUTE && ev->stmt < 0 && ev->params_len == 0);
}

enum qt_reason qt_command_why_not_sendable(struct qt_session *s, const struct qt_planned_event *ev)
{
    if (is_text(ev) || ev->command == QT_COMMAND_PREPARE)
        return ev->len != SIZE_MAX ? QT_EXECUTED : QT_UNSUPPORTED;
    switch (ev->command) {
    case QT_COMMAND_INIT_DB:
        return ev->db != NULL ? QT_EXECUTED : QT_UNSUPPORTED;
    case QT_COMMAND_PING:
    case QT_COMMAND_RESET_CONNECTION:
    case QT_COMMAND_CHANGE_USER:
    case QT_COMMAND_PROCESS_KILL:
    case QT_COMMAND_QUIT:
        return QT_EXECUTED;
    case QT_COMMAND_SET_OPTION:
        return ev->params_len == 3 && ev->params[0] == 'C' ? QT_EXECUTED : QT_PARAMS_MISMATCH;
    case QT_COMMAND_EXECUTE:
    case QT_COMMAND_BULK_EXECUTE:
    case QT_COMMAND_LONG_DATA:
        if (ev->params_len == 0)
            return QT_PARAMS_MISMATCH;
        return qt_connection_is_prepared(&s->backend->connection, ev->stmt) ? QT_EXECUTED : QT_NOT_PREPARED;
    case QT_COMMAND_RESET_STMT:
    case QT_COMMAND_CLOSE_STMT:
        return qt_connection_is_prepared(&s->backend->connection, ev->stmt) ? QT_EXECUTED : QT_NOTHING_TO_CLOSE;
    case QT_COMMAND_FETCH:
        if (ev->params_len == 0)
            return QT_PARAMS_MISMATCH;
        return qt_connection_has_cursor(&s->backend->connection, ev->stmt) ? QT_EXECUTED : QT_NO_CURSOR;
    default:
        return QT_UNSUPPORTED;
    }
}

int qt_command_needs_schema(const struct qt_planned_event *ev)
{
    return (is_text(ev) || ev->command == QT_COMMAND_PREPARE) && !(ev->flags & QT_F_USE);
}

int qt_command_runs_sql(const struct qt_planned_event *ev)
{
    return is_text(ev) || ev->command == QT_COMMAND_EXECUTE || ev->command == QT_COMMAND_BULK_EXECUTE;
}

/* Forgets the session's settings after a reset. The collation and the init statements were already sent again. */
static void forget_settings(struct qt_session *s, const char *db)
{
    s->backend->current_db = db;
    s->backend->clock_us = QT_NONE;
    s->backend->own_clock = 0;
    s->backend->several = 0;
    if (s->backend->connection.names_set)
        qt_bump(&s->injected);
    if (s->engine->options.init != NULL)
        qt_bump(&s->injected);
}

static enum qt_reason reason_of(int mismatch) { return mismatch ? QT_PARAMS_MISMATCH : QT_EXECUTED; }

/* If the target knows the requested collation, the event's statement is the name of this collation. */
static enum qt_reason change_user(struct qt_session *s, const struct qt_planned_event *ev, struct qt_login login,
                                  struct qt_answer *a)
{
    char names[sizeof s->backend->connection.names];
    if (ev->params_len == 3 && ev->params[0] == 'C') {
        size_t len = ev->len != SIZE_MAX && ev->len < sizeof names ? ev->len : 0;
        login.collation = (unsigned char)ev->params[1] | (unsigned char)ev->params[2] << 8;
        memcpy(names, len > 0 ? ev->statement : "", len);
        names[len] = '\0';
        login.names = names;
    }
    qt_connection_change_user(&s->backend->connection, qt_options_for(s), &login, a);
    if (a->error == 0)
        s->backend->account = ev->account;
    forget_settings(s, ev->db);
    return QT_EXECUTED;
}

enum qt_reason qt_command_send(struct qt_session *s, const struct qt_planned_event *ev, struct qt_answer *a)
{
    struct qt_connection *c = &s->backend->connection;
    const struct qt_login login = {ev->account, s->client_flags, s->charset, s->names, s->collation, ev->db};
    if (is_text(ev))
        return send_query(s, ev, a);
    switch (ev->command) {
    case QT_COMMAND_INIT_DB:
        qt_connection_select_db(c, ev->db, a);
        if (a->error == 0)
            s->backend->current_db = ev->db;
        break;
    case QT_COMMAND_PING:
        qt_connection_ping(c, a);
        break;
    case QT_COMMAND_RESET_CONNECTION:
        qt_connection_reset(c, qt_options_for(s), a);
        forget_settings(s, NULL);
        break;
    case QT_COMMAND_CHANGE_USER:
        return change_user(s, ev, login, a);
    case QT_COMMAND_PROCESS_KILL:
        return kill_session(s, ev, a);
    case QT_COMMAND_SET_OPTION:
        qt_connection_set_option(c, (unsigned char)ev->params[1], a);
        break;
    case QT_COMMAND_PREPARE:
        qt_connection_prepare(c, ev->stmt, ev->statement, ev->len, (ev->flags & QT_PLAN_FAILED) != 0, a);
        break;
    case QT_COMMAND_LONG_DATA:
        return reason_of(qt_connection_long_data(c, ev->stmt, ev->params, ev->params_len, a));
    case QT_COMMAND_FETCH:
        return reason_of(qt_connection_fetch(c, ev->stmt, ev->params, ev->params_len, a));
    case QT_COMMAND_RESET_STMT:
        qt_connection_reset_stmt(c, ev->stmt, a);
        break;
    case QT_COMMAND_CLOSE_STMT:
        qt_connection_close_stmt(c, ev->stmt, a);
        break;
    default: /* execute and bulk_execute */
        return reason_of(send_execute(s, ev, a));
    }
    return QT_EXECUTED;
}
