/* SPDX-License-Identifier: Apache-2.0 */
/* What each command of the tape does on its session's connection. */
#include "engine_private.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "prepared.h"

#define KILL_WAIT_MS 5000 /* no stop ends this wait */
#define LONG_WAIT_MS 500 /* before a wait longer than this, records are handed over */

static void nobody(void *self, int fd)
{
    (void)self;
    (void)fd;
}

/* KILL QUERY on a connection of its own; the answer then comes as error 1317 (MariaDB also 1969 or 3024). */
static void kill_statement(struct qt_session *s)
{
    struct qt_engine *e = s->engine;
    struct qt_link link = {.opened = nobody, .self = s, .fd = -1};
    struct qt_answer a;
    char sql[64];
    int len = snprintf(sql, sizeof sql, "KILL QUERY %" PRId64, s->side->thread_id);

    atomic_fetch_add(&e->timeouts, 1);
    if (qt_link_open(&link, qt_options_of(s), &(struct qt_login){.account = s->side->account_now}) == 0 &&
        qt_link_send(&link, sql, (size_t)len, &a) == 0 && qt_link_wait(&link, KILL_WAIT_MS))
        qt_link_receive(&link, &a);
    qt_link_close(&link);
}

static void await_answer(struct qt_session *s)
{
    int64_t limit = s->engine->options.statement_timeout_ns, left_ms = limit / 1000000;

    if (limit > 0 && left_ms <= LONG_WAIT_MS) {
        if (qt_link_wait(&s->side->link, (int)left_ms))
            return;
        kill_statement(s);
    } else if (qt_link_wait(&s->side->link, LONG_WAIT_MS)) {
        return;
    }
    qt_records_hand_over(s);
    if (left_ms > LONG_WAIT_MS) {
        left_ms -= LONG_WAIT_MS;
        if (qt_link_wait(&s->side->link, left_ms > INT_MAX ? INT_MAX : (int)left_ms))
            return;
        kill_statement(s);
    }
    qt_link_wait(&s->side->link, -1);
}

static void query(struct qt_session *s, const struct qt_event *ev, struct qt_answer *a)
{
    if (ev->params_len > 0 && ev->params[0] == 'I') {
        s->side->link.file = ev->params + 1;
        s->side->link.file_len = ev->params_len - 1;
    } else if (ev->params_len > 0) {
        s->side->link.attributes_dropped++;
    }
    if (qt_link_send(&s->side->link, ev->statement, ev->len, a) == 0) {
        await_answer(s);
        qt_link_receive(&s->side->link, a);
    }
    s->side->link.file = NULL;
    if ((ev->flags & QT_F_USE) && a->error == 0)
        s->side->current_db = ev->db;
}

/* What a session of this engine is doing, or itself, is ended: KILL with its connection id on the target. */
static enum qt_reason kill_session(struct qt_session *s, const struct qt_event *ev, struct qt_answer *a)
{
    struct qt_session *victim = ev->stmt >= 0 ? qt_find_session(s->engine, ev->stmt) : NULL;
    int64_t id = victim != NULL ? atomic_load(&victim->target_id) : -1;
    char sql[64];
    int len = snprintf(sql, sizeof sql, "KILL %s%" PRId64, ev->len == 5 && memcmp(ev->statement, "QUERY", 5) == 0 ? "QUERY " : "", id);

    if (id < 0)
        return QT_NO_VICTIM;
    if (qt_link_send(&s->side->link, sql, (size_t)len, a) == 0) {
        await_answer(s);
        qt_link_receive(&s->side->link, a);
    }
    return QT_EXECUTED;
}

static int execute(struct qt_session *s, const struct qt_event *ev, struct qt_answer *a)
{
    int code = qt_link_send_execute(&s->side->link, ev->stmt, ev->params, ev->params_len, a);
    if (code != 0)
        return code > 0;
    await_answer(s);
    qt_link_receive_execute(&s->side->link, a);
    return 0;
}

static int is_text(const struct qt_event *ev) /* a log's Execute has the values in its text */
{
    return ev->command == QT_COMMAND_QUERY || (ev->command == QT_COMMAND_EXECUTE && ev->stmt < 0 && ev->params_len == 0);
}

enum qt_reason qt_command_hindrance(struct qt_session *s, const struct qt_event *ev)
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
        return ev->params_len == 3 && ev->params[0] == 'C' ? QT_EXECUTED : QT_UNFIT;
    case QT_COMMAND_EXECUTE:
    case QT_COMMAND_BULK_EXECUTE:
    case QT_COMMAND_LONG_DATA:
        if (ev->params_len == 0)
            return QT_UNFIT;
        return qt_link_is_prepared(&s->side->link, ev->stmt) ? QT_EXECUTED : QT_NOT_PREPARED;
    case QT_COMMAND_RESET_STMT:
    case QT_COMMAND_CLOSE_STMT:
        return qt_link_is_prepared(&s->side->link, ev->stmt) ? QT_EXECUTED : QT_NOT_PREPARED;
    case QT_COMMAND_FETCH:
        if (ev->params_len == 0)
            return QT_UNFIT;
        return qt_link_has_cursor(&s->side->link, ev->stmt) ? QT_EXECUTED : QT_NO_CURSOR;
    default:
        return QT_UNSUPPORTED;
    }
}

int qt_command_needs_schema(const struct qt_event *ev)
{
    return (is_text(ev) || ev->command == QT_COMMAND_PREPARE) && !(ev->flags & QT_F_USE);
}

int qt_command_runs_sql(const struct qt_event *ev)
{
    return is_text(ev) || ev->command == QT_COMMAND_EXECUTE || ev->command == QT_COMMAND_BULK_EXECUTE;
}

/* The session has lost what it had set: character set and init statement were made again, the rest is forgotten here, too. */
static void reset_done(struct qt_session *s, const char *db)
{
    s->side->current_db = db;
    s->side->clock_us = QT_NONE;
    qt_bump(&s->injected); /* SET NAMES */
    if (s->engine->options.init != NULL)
        qt_bump(&s->injected);
}

static enum qt_reason fits(int unfit) { return unfit ? QT_UNFIT : QT_EXECUTED; }

enum qt_reason qt_command_send(struct qt_session *s, const struct qt_event *ev, struct qt_answer *a)
{
    struct qt_link *link = &s->side->link;
    const struct qt_login login = {ev->account, s->client_flags, s->charset, ev->db};
    if (is_text(ev)) {
        query(s, ev, a);
        return QT_EXECUTED;
    }
    switch (ev->command) {
    case QT_COMMAND_INIT_DB:
        qt_link_select_db(link, ev->db, a);
        if (a->error == 0)
            s->side->current_db = ev->db;
        break;
    case QT_COMMAND_PING:
        qt_link_ping(link, a);
        break;
    case QT_COMMAND_RESET_CONNECTION:
        qt_link_reset(link, qt_options_of(s), s->charset, a);
        reset_done(s, NULL);
        break;
    case QT_COMMAND_CHANGE_USER:
        qt_link_change_user(link, qt_options_of(s), &login, a);
        if (a->error == 0)
            s->side->account_now = ev->account;
        reset_done(s, ev->db);
        break;
    case QT_COMMAND_PROCESS_KILL:
        return kill_session(s, ev, a);
    case QT_COMMAND_SET_OPTION:
        qt_link_set_option(link, (unsigned char)ev->params[1], a);
        break;
    case QT_COMMAND_PREPARE:
        qt_link_prepare(link, ev->stmt, ev->statement, ev->len, a);
        break;
    case QT_COMMAND_LONG_DATA:
        return fits(qt_link_long_data(link, ev->stmt, ev->params, ev->params_len, a));
    case QT_COMMAND_FETCH:
        return fits(qt_link_fetch(link, ev->stmt, ev->params, ev->params_len, a));
    case QT_COMMAND_RESET_STMT:
        qt_link_reset_stmt(link, ev->stmt, a);
        break;
    case QT_COMMAND_CLOSE_STMT:
        qt_link_close_stmt(link, ev->stmt, a);
        break;
    default: /* execute, bulk_execute */
        return fits(execute(s, ev, a));
    }
    return QT_EXECUTED;
}
