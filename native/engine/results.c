/* SPDX-License-Identifier: Apache-2.0 */
/* One row a session, after the end: the columns `sessions` of schemas/run.sql. */
#include <stdlib.h>

#include "base/stream.h"
#include "engine/state.h"

enum { BATCH_ROWS = 8192 };

static const struct qt_column_spec SPECS[] = {
    {"session", 'l', 0},    {"clone", 'i', 0},        {"opened_ahead", 'b', 0},   {"connect_due_ns", 'l', 1},
    {"connect_ns", 'l', 1}, {"connected_ns", 'l', 1}, {"closed_ns", 'l', 1},      {"thread_id", 'l', 1},
    {"executed", 'l', 0},   {"injected", 'l', 0},     {"in_transaction", 'b', 1}, {"errno", 'i', 1},
    {"error", 'u', 1},
};
enum { N_SPECS = sizeof SPECS / sizeof *SPECS };

struct cursor {
    struct qt_engine *engine;
    struct qt_columns cols;
    int64_t at;
};

static void put_time(struct qt_engine *e, struct qt_column *c, int64_t ns)
{
    if (ns == 0)
        qt_col_null(c);
    else
        qt_col_i64(c, qt_from_zero(e, ns));
}

static void put_session(struct qt_engine *e, struct qt_column *c, struct qt_session *s)
{
    qt_col_i64(c++, s->id & (((int64_t)1 << QT_SHIFT_CLONE) - 1));
    qt_col_i32(c++, (int32_t)(s->id >> QT_SHIFT_CLONE));
    qt_col_bool(c++, s->ahead);
    qt_col_i64(c++, s->open_due_ns);
    put_time(e, c++, s->connect_ns);
    put_time(e, c++, s->connected_ns);
    put_time(e, c++, s->closed_ns);
    if (s->connected_ns == 0)
        qt_col_null(c++);
    else
        qt_col_i64(c++, s->backends[0].thread_id);
    qt_col_i64(c++, (int64_t)atomic_load(&s->executed));
    qt_col_i64(c++, (int64_t)atomic_load(&s->injected));
    if (s->connected_ns == 0 || s->in_transaction < 0)
        qt_col_null(c++);
    else
        qt_col_bool(c++, s->in_transaction);
    qt_col_i32(c++, s->error_code);
    if (s->error == NULL)
        qt_col_null(c);
    else
        qt_col_text(c, s->error);
}

static int next_batch(void *self, struct ArrowArray *out, struct qt_error *err)
{
    struct cursor *cur = self;
    struct qt_engine *e = cur->engine;
    int64_t end = cur->at + BATCH_ROWS < e->n_sessions ? cur->at + BATCH_ROWS : e->n_sessions;

    if (cur->at == end)
        return QT_OK;
    while (cur->at < end)
        put_session(e, cur->cols.col, qt_session_at(e, cur->at++));
    return qt_columns_finish(&cur->cols, out, err);
}

static void close_cursor(void *self)
{
    struct cursor *cur = self;
    qt_columns_free(&cur->cols);
    free(cur);
}

int qt_engine_session_results(struct qt_engine *e, struct ArrowArrayStream *out, struct qt_error *err)
{
    struct cursor *cur;
    struct qt_stream_source source = {SPECS, N_SPECS, next_batch, close_cursor, NULL};
    int code;

    if (atomic_load(&e->state) != QT_ENGINE_DONE)
        return qt_fail(err, QT_ESTATE, "the sessions' results are there when the run is done");
    source.self = cur = calloc(1, sizeof *cur);
    if (cur == NULL || qt_columns_init(&cur->cols, SPECS, N_SPECS) != QT_OK) {
        free(cur);
        return qt_fail(err, QT_ENOMEM, "out of memory for the sessions' results");
    }
    cur->engine = e;
    code = qt_stream_make(out, &source, err);
    if (code != QT_OK)
        close_cursor(cur);
    return code;
}
