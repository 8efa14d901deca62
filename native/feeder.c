/* SPDX-License-Identifier: Apache-2.0 */
/* From the plan's stream into the sessions' queues, ahead of time and within the memory budget. */
#include <stdlib.h>
#include <string.h>

#include "arrow_read.h"
#include "engine_private.h"

#define ENOUGH 50000u /* events fed before the run's zero at most: the rest comes while it runs */

enum column { SESSION, SEQ, DUE, COMMAND, CLASS, FLAGS, DB, STATEMENT, COLUMNS };

static const struct qt_column_spec columns[COLUMNS] = {
    {"session", "l"}, {"seq", "l"}, {"due_ns", "l"}, {"command", "i"}, {"class", "i"}, {"flags", "l"}, {"db", "U"},
    {"statement", "Z"},
};

static size_t slot_of(const struct qt_engine *e, int64_t id)
{
    uint64_t x = (uint64_t)id * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(x ^ x >> 32) & (e->n_slots - 1);
}

int qt_engine_index(struct qt_engine *e)
{
    e->n_slots = 16;
    while (e->n_slots < e->n_sessions * 2)
        e->n_slots *= 2;
    e->by_id = calloc(e->n_slots, sizeof *e->by_id);
    if (e->by_id == NULL)
        return -1;
    for (size_t i = 0; i < e->n_sessions; i++) {
        size_t at = slot_of(e, e->sessions[i].id);
        while (e->by_id[at] != 0)
            at = (at + 1) & (e->n_slots - 1);
        e->by_id[at] = (uint32_t)i + 1;
    }
    return 0;
}

struct qt_session *qt_engine_session(struct qt_engine *e, int64_t id)
{
    for (size_t at = slot_of(e, id); e->by_id[at] != 0; at = (at + 1) & (e->n_slots - 1))
        if (e->sessions[e->by_id[at] - 1].id == id)
            return &e->sessions[e->by_id[at] - 1];
    return NULL;
}

static struct qt_event *make_event(const struct ArrowArray *batch, int64_t row)
{
    struct ArrowArray **c = batch->children;
    size_t db_len, statement_len;
    const char *db = qt_read_bytes(c[DB], row, &db_len);
    const char *statement = qt_read_bytes(c[STATEMENT], row, &statement_len);
    struct qt_event *event = malloc(sizeof *event + db_len + statement_len + 2);
    if (event == NULL)
        return NULL;
    atomic_init(&event->next, NULL);
    event->seq = qt_read_i64(c[SEQ], row);
    event->due_ns = qt_read_valid(c[DUE], row) ? qt_read_i64(c[DUE], row) : 0;
    event->flags = qt_read_i64(c[FLAGS], row);
    event->command = qt_read_i32(c[COMMAND], row);
    event->klass = qt_read_i32(c[CLASS], row);
    event->has_db = db != NULL;
    event->db_len = db_len;
    event->statement_len = statement_len;
    if (db_len > 0)
        memcpy(event->bytes, db, db_len);
    event->bytes[db_len] = 0;
    if (statement_len > 0)
        memcpy(event->bytes + db_len + 1, statement, statement_len);
    event->bytes[db_len + 1 + statement_len] = 0;
    return event;
}

static void wait_for_budget(struct qt_engine *e, int64_t size)
{
    while (atomic_load(&e->queued_bytes) > 0 && atomic_load(&e->queued_bytes) + size > e->options.queue_bytes &&
           !atomic_load(&e->stop) && !atomic_load(&e->cut)) {
        if (!atomic_exchange(&e->fed_enough, 1))
            qt_wake(&e->signal);
        uint32_t seen = atomic_load(&e->signal);
        atomic_store(&e->feeder_waits, 1);
        qt_wait(&e->signal, seen, qt_now() + 50000000);
        atomic_store(&e->feeder_waits, 0);
    }
}

/* A session whose thread could not be made, or the plan knows and the session list does not: said here. */
static void without_thread(struct qt_session *s, struct qt_event *event)
{
    struct qt_outcome o = {.seq = event->seq, .due_ns = event->due_ns, .fed_ns = QT_NONE, .free_ns = QT_NONE, .sent_ns = QT_NONE,
                           .first_ns = QT_NONE, .done_ns = QT_NONE, .rows_sent = QT_NONE, .rows_affected = QT_NONE,
                           .bytes_received = QT_NONE, .warnings = -1, .reason = QT_R_THREAD};
    qt_outcome_add(s, &o, qt_now());
    qt_outcome_flush(s);
    free(event);
}

static void queue(struct qt_session *s, struct qt_event *event, int64_t size)
{
    struct qt_engine *e = s->engine;
    event->fed_ns = qt_now();
    atomic_fetch_add(&e->queued_bytes, size);
    atomic_store(&s->tail->next, event);
    s->tail = event;
    if (atomic_exchange(&s->wants_event, 0))
        qt_wake(&s->signal);
}

static int feed_row(struct qt_engine *e, const struct ArrowArray *batch, int64_t row, struct qt_error *error)
{
    int64_t id = qt_read_i64(batch->children[SESSION], row);
    struct qt_session *s = qt_engine_session(e, id);
    if (s == NULL)
        return qt_fail(error, QT_EINVALID, "the plan has an event of session %lld, which is not among the sessions", (long long)id);
    struct qt_event *event = make_event(batch, row);
    if (event == NULL)
        return qt_fail(error, QT_ENOMEM, "out of memory for a waiting event");
    int64_t size = (int64_t)(sizeof *event + event->db_len + event->statement_len + 2);
    if (event->due_ns > atomic_load_explicit(&e->max_due_ns, memory_order_relaxed))
        atomic_store(&e->max_due_ns, event->due_ns);
    if (atomic_load(&s->no_thread)) {
        without_thread(s, event);
    } else {
        wait_for_budget(e, size);
        queue(s, event, size);
    }
    if (atomic_fetch_add_explicit(&e->fed, 1, memory_order_relaxed) == ENOUGH && !atomic_exchange(&e->fed_enough, 1))
        qt_wake(&e->signal);
    return QT_OK;
}

int qt_engine_feed(struct qt_engine *e, struct ArrowArrayStream *in, struct qt_error *error)
{
    int code = qt_read_schema(in, columns, COLUMNS, error);
    while (code == QT_OK && !atomic_load(&e->stop)) {
        struct ArrowArray batch;
        if (in->get_next(in, &batch) != 0) {
            const char *why = in->get_last_error(in);
            code = qt_fail(error, QT_EIO, "the plan ended early: %s", why != NULL ? why : "?");
            break;
        }
        if (batch.release == NULL)
            break;
        for (int64_t row = 0; row < batch.length && code == QT_OK; row++)
            code = feed_row(e, &batch, row, error);
        batch.release(&batch);
    }
    in->release(in);
    return code;
}

int qt_engine_feed_end(struct qt_engine *e, struct qt_error *error)
{
    if (e->by_id == NULL)
        return qt_fail(error, QT_ESTATE, "qt_engine_sessions comes first");
    atomic_store(&e->feed_ended, 1);
    atomic_store(&e->fed_enough, 1);
    for (size_t i = 0; i < e->n_sessions; i++)
        qt_wake(&e->sessions[i].signal);
    qt_wake(&e->signal);
    return QT_OK;
}
