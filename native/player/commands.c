/* SPDX-License-Identifier: Apache-2.0 */
/* What each command of the tape does on its session's connection. */
#include "engine_private.h"

#include <string.h>

#include "prepared.h"

#define LONG_WAIT_MS 500 /* before a wait longer than this, records are handed over */

static void await_answer(struct qt_session *s)
{
    if (qt_link_wait(&s->link, LONG_WAIT_MS))
        return;
    qt_records_hand_over(s);
    qt_link_wait(&s->link, -1);
}

static void query(struct qt_session *s, const struct qt_event *ev, struct qt_answer *a)
{
    if (ev->params_len > 0 && ev->params[0] == 'I') {
        s->link.file = ev->params + 1;
        s->link.file_len = ev->params_len - 1;
    } else if (ev->params_len > 0) {
        s->link.attributes_dropped++;
    }
    if (qt_link_send(&s->link, ev->statement, ev->len, a) == 0) {
        await_answer(s);
        qt_link_receive(&s->link, a);
    }
    s->link.file = NULL;
    if ((ev->flags & QT_F_USE) && a->error == 0)
        s->current_db = ev->db;
}

static int execute(struct qt_session *s, const struct qt_event *ev, struct qt_answer *a)
{
    int code = qt_link_send_execute(&s->link, ev->stmt, ev->params, ev->params_len, a);
    if (code != 0)
        return code > 0;
    await_answer(s);
    qt_link_receive_execute(&s->link, a);
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
    case QT_COMMAND_QUIT:
        return QT_EXECUTED;
    case QT_COMMAND_EXECUTE:
    case QT_COMMAND_BULK_EXECUTE:
    case QT_COMMAND_LONG_DATA:
        if (ev->params_len == 0)
            return QT_UNFIT;
        return qt_link_is_prepared(&s->link, ev->stmt) ? QT_EXECUTED : QT_NOT_PREPARED;
    case QT_COMMAND_RESET_STMT:
    case QT_COMMAND_CLOSE_STMT:
        return qt_link_is_prepared(&s->link, ev->stmt) ? QT_EXECUTED : QT_NOT_PREPARED;
    case QT_COMMAND_FETCH:
        if (ev->params_len == 0)
            return QT_UNFIT;
        return qt_link_has_cursor(&s->link, ev->stmt) ? QT_EXECUTED : QT_NO_CURSOR;
    default:
        return QT_UNSUPPORTED;
    }
}

int qt_command_needs_schema(const struct qt_event *ev)
{
    return (is_text(ev) || ev->command == QT_COMMAND_PREPARE) && !(ev->flags & QT_F_USE);
}

int qt_command_send(struct qt_session *s, const struct qt_event *ev, struct qt_answer *a)
{
    struct qt_link *link = &s->link;
    if (is_text(ev)) {
        query(s, ev, a);
        return 0;
    }
    switch (ev->command) {
    case QT_COMMAND_INIT_DB:
        qt_link_select_db(link, ev->db, a);
        if (a->error == 0)
            s->current_db = ev->db;
        break;
    case QT_COMMAND_PING:
        qt_link_ping(link, a);
        break;
    case QT_COMMAND_RESET_CONNECTION:
        qt_link_reset(link, &s->engine->options, a);
        s->current_db = NULL;
        qt_bump(&s->injected); /* SET NAMES */
        if (s->engine->options.init != NULL)
            qt_bump(&s->injected);
        break;
    case QT_COMMAND_PREPARE:
        qt_link_prepare(link, ev->stmt, ev->statement, ev->len, a);
        break;
    case QT_COMMAND_LONG_DATA:
        return qt_link_long_data(link, ev->stmt, ev->params, ev->params_len, a);
    case QT_COMMAND_FETCH:
        return qt_link_fetch(link, ev->stmt, ev->params, ev->params_len, a);
    case QT_COMMAND_RESET_STMT:
        qt_link_reset_stmt(link, ev->stmt, a);
        break;
    case QT_COMMAND_CLOSE_STMT:
        qt_link_close_stmt(link, ev->stmt, a);
        break;
    default: /* execute, bulk_execute */
        return execute(s, ev, a);
    }
    return 0;
}
