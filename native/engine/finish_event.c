/* SPDX-License-Identifier: Apache-2.0 */
/* Every event ends here, sent or not:
 *
 *   sent      ─► its record, the counters ───┐                           ┌─► repeated on the read target if needed
 *                                            ├─► its commit is settled; ─┤
 *   not sent  ─► its record with the reason ─┘   think time starts       └─► freed: room in the queue
 *
 * Each fed event is therefore counted exactly once, as executed or not_sent. */
#include "engine/finish_event.h"

#include <string.h>

#include "engine/backend.h"
#include "engine/read_split.h"
#include "engine/commit_order.h"
#include "engine/connection.h"
#include "engine/stats.h"
#include "engine/pace.h"
#include "engine/queue.h"
#include "engine/outcomes.h"

static void settle_event(struct qt_session *s, const struct qt_planned_event *ev)
{
    s->tape_end_ns = ev->due_ns + ev->span_ns;
    qt_settle_commits(s->engine, ev);
}

void qt_refuse_event(struct qt_session *s, struct qt_planned_event *ev, enum qt_reason reason,
                     const struct qt_answer *a)
{
    struct qt_record *r = qt_record_new(s, ev, qt_now());

    if (r != NULL)
        r->reason = reason;
    if (r != NULL && a != NULL) {
        r->error_code = a->error;
        r->error = strdup(qt_connection_error(&s->backend->connection));
    }
    if (a != NULL && a->error != 0)
        qt_meter_error(s->engine, a->error);
    qt_bump(&s->not_sent);
    settle_event(s, ev);
    qt_event_free(s, ev);
}

static void count_executed(struct qt_session *s, const struct qt_planned_event *ev, const struct qt_record *r,
                           int64_t due, int64_t sent_ns, int64_t done_ns)
{
    struct qt_engine *e = s->engine;

    qt_meter_event(s, ev, due, sent_ns, done_ns);
    qt_bump(&s->executed);
    if (ev->class == QT_CLASS_READ)
        qt_bump(&s->reads);
    else if (ev->class == QT_CLASS_WRITE)
        qt_bump(&s->writes);
    else
        qt_bump(&s->others);
    if (r->error_code == 0)
        return;
    qt_bump(&s->errors);
    qt_meter_error(e, r->error_code);
    if (e->options.max_errors >= 0 && atomic_fetch_add(&e->threads.failures, 1) >= e->options.max_errors)
        qt_end_by(e, QT_BY_ERRORS);
}

/* Updates whether the session is under LOCK TABLES. A LOCK TABLES that fails has released the old locks. */
static void note_table_locks(struct qt_session *s, const struct qt_planned_event *ev, const struct qt_answer *a)
{
    if (ev->actions & QT_ACTION_LOCK_TABLES)
        s->locks_tables = a->error == 0;
    else if (a->error == 0 && (ev->actions & (QT_ACTION_UNLOCK_TABLES | QT_ACTION_BEGIN) ||
                               ev->command == QT_COMMAND_RESET_CONNECTION || ev->command == QT_COMMAND_CHANGE_USER))
        s->locks_tables = 0;
}

void qt_finish_event(struct qt_session *s, struct qt_planned_event *ev, struct qt_answer *a, int64_t due,
                     int64_t sent_ns)
{
    struct qt_engine *e = s->engine;
    int64_t now_ns = a->done_ns != 0 ? a->done_ns : qt_now();
    struct qt_record *r, spare;
    const char *text = a->error == 0 || s->backend->connection.mysql == NULL
                           ? NULL
                           : qt_connection_error(&s->backend->connection);

    if (a->lost && qt_session_mark_lost(s, a, &text))
        qt_count(e, QT_COUNT_DRAIN_TIMEOUT, 1);
    r = qt_record_new(s, ev, now_ns);
    if (r == NULL)
        r = memset(&spare, 0, sizeof spare);
    r->due_ns = due == QT_NONE ? QT_NONE : qt_from_zero(e, due);
    r->free_ns = qt_from_zero(e, s->free_ns);
    r->sent_ns = qt_from_zero(e, sent_ns);
    r->first_ns = qt_from_zero(e, a->first_ns);
    r->done_ns = qt_from_zero(e, a->done_ns);
    r->order_ns = s->order_ns > 0 ? s->order_ns : QT_NONE;
    r->error_code = a->error;
    if (!a->lost) {
        r->bytes = a->bytes;
        r->rows = a->rows;
        r->affected = a->affected;
        r->warnings = a->warnings;
        r->sum = a->sum;
        r->binary = a->binary;
        s->in_tx = qt_connection_in_transaction(&s->backends[0].connection);
        note_table_locks(s, ev, a);
        if (!s->in_tx && !s->locks_tables)
            atomic_store(&s->unordered, QT_IN_ORDER);
    }
    r->on_read_target = s->backend == &s->backends[1];
    if (text != NULL && r != &spare)
        r->error = strdup(text);
    count_executed(s, ev, r, due, sent_ns, a->done_ns);
    s->free_ns = s->answered_ns = now_ns;
    s->answered_stood_ns = qt_stood_ns(s->engine);
    settle_event(s, ev);
    if (a->error == 0)
        qt_mirror_event(s, ev);
    qt_event_free(s, ev);
}
