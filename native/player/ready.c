/* SPDX-License-Identifier: Apache-2.0 */
/* What an event needs before it is due, done while its session is idle, so that it costs the event no lateness:
 *
 *   its schema is selected ─► the clock and the next insert id are forced, where the plan says so ─► its turn has come
 */
#include "engine_private.h"

#include <inttypes.h>
#include <stdio.h>

int qt_session_lose(struct qt_session *s, const struct qt_answer *a, const char **text)
{
    struct qt_engine *e = s->engine;
    int cut;

    pthread_mutex_lock(&e->fd_lock);
    cut = s->cut;
    pthread_mutex_unlock(&e->fd_lock);
    atomic_store(&s->target_id, -1);
    if (cut) {
        s->broken = qt_stopping(e) ? QT_STOPPED : QT_DRAIN_CUT;
        *text = qt_stopping(e) ? "cut off: the run was stopped" : "cut off: no answer before the end of the drain";
    } else {
        s->broken = QT_CONNECTION_LOST;
        atomic_fetch_add(&e->lost, 1);
    }
    s->error_code = a->error;
    if (s->error == NULL && *text != NULL)
        s->error = strdup(*text);
    if (!cut && e->options.on_lost == QT_LOST_STOP)
        qt_end_by(e, QT_BY_LOSS);
    return cut;
}

/* Something that was injected lost the connection. */
static enum qt_reason lost(struct qt_session *s, const struct qt_answer *a)
{
    const char *text = qt_link_error(&s->side->link);
    qt_session_lose(s, a, &text);
    return (enum qt_reason)s->broken;
}

static enum qt_reason select_schema(struct qt_session *s, const struct qt_event *ev)
{
    struct qt_answer a;
    struct qt_record *r;

    if (ev->db == NULL || ev->db == s->side->current_db || !qt_command_needs_schema(ev))
        return QT_EXECUTED;
    qt_link_select_db(&s->side->link, ev->db, &a);
    qt_bump(&s->injected);
    s->free_ns = qt_now();
    if (a.error == 0) {
        s->side->current_db = ev->db;
        return QT_EXECUTED;
    }
    if (a.lost)
        return lost(s, &a);
    r = qt_note(s, ev, s->free_ns);
    if (r != NULL) {
        r->reason = QT_SCHEMA_FAILED;
        r->error_code = a.error;
        r->error = strdup(qt_link_error(&s->side->link));
    }
    return QT_SCHEMA_FAILED;
}

/* A statement that fails here is sent all the same, with the target's own clock and ids, and counted. */
static enum qt_reason force(struct qt_session *s, const struct qt_event *ev)
{
    char sql[128] = "SET ";
    size_t at = 4;
    struct qt_answer a;

    if ((ev->clock_us == s->side->clock_us && ev->insert_id == QT_NONE) || !qt_command_runs_sql(ev))
        return QT_EXECUTED;
    if (ev->clock_us == QT_NONE && s->side->clock_us != QT_NONE)
        at += (size_t)snprintf(sql + at, sizeof sql - at, "timestamp=DEFAULT");
    else if (ev->clock_us != s->side->clock_us)
        at += (size_t)snprintf(sql + at, sizeof sql - at, "timestamp=%" PRId64 ".%06" PRId64, ev->clock_us / 1000000,
                               ev->clock_us % 1000000);
    if (ev->insert_id != QT_NONE)
        at += (size_t)snprintf(sql + at, sizeof sql - at, "%sinsert_id=%" PRId64, at > 4 ? "," : "", ev->insert_id);
    if (qt_link_send(&s->side->link, sql, at, &a) == 0) {
        qt_link_wait(&s->side->link, -1);
        qt_link_receive(&s->side->link, &a);
    }
    qt_bump(&s->injected);
    s->free_ns = qt_now();
    if (a.lost)
        return lost(s, &a);
    if (a.error != 0)
        atomic_fetch_add(&s->engine->unforced, 1);
    else
        s->side->clock_us = ev->clock_us;
    return QT_EXECUTED;
}

enum qt_reason qt_make_ready(struct qt_session *s, const struct qt_event *ev)
{
    enum qt_reason why = select_schema(s, ev);
    if (why == QT_EXECUTED)
        why = force(s, ev);
    if (why == QT_EXECUTED && ev->waits != NULL)
        qt_order_wait(s, ev);
    return why;
}
