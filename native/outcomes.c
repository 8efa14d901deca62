/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outcomes on their way out: each session fills a chunk of its own and pushes it when it is full, when its oldest row is a
 * second old, or before a long wait. Whoever pulls the stream takes the whole stack at once. Chunks begin small and grow
 * with their session's rate, so that ten thousand quiet sessions hold little.
 */
#include <stdlib.h>
#include <string.h>

#include "engine_private.h"
#include "stream.h"

#define FIRST_ROWS 4u
#define MOST_ROWS 128u
#define OLDEST_NS INT64_C(1000000000)
#define BATCH_ROWS ((size_t)16384)
#define PENDING_MOST INT64_C(4000000) /* rows nobody pulled: then sessions wait, which counts as tool lateness */

enum column {
    SESSION, SEQ, CLONE, DUE, FED, FREE, SENT, FIRST, DONE, STATUS, REASON, ROWS_SENT, ROWS_AFFECTED, BYTES, WARNINGS, ERRNO,
    ERROR, CHECKSUM, COLUMNS
};

static const struct qt_column_spec columns[COLUMNS] = {
    {"session", "l"}, {"seq", "l"}, {"clone", "i"}, {"due_ns", "l"}, {"fed_ns", "l"}, {"free_ns", "l"}, {"sent_ns", "l"},
    {"first_ns", "l"}, {"done_ns", "l"}, {"status", "u"}, {"reason", "u"}, {"rows_sent", "l"}, {"rows_affected", "l"},
    {"bytes_received", "l"}, {"warnings", "l"}, {"errno", "i"}, {"error", "u"}, {"checksum", "u"},
};

static const char *const reasons[] = {
    NULL, "connect_failed", "connection_lost", "stopped", "drain", "unsupported", "schema", "no_thread",
};

static void push(struct qt_engine *e, struct qt_chunk *chunk)
{
    struct qt_chunk *top = atomic_load_explicit(&e->finished, memory_order_relaxed);
    atomic_fetch_add(&e->pending_rows, chunk->n);
    do
        chunk->next = top;
    while (!atomic_compare_exchange_weak_explicit(&e->finished, &top, chunk, memory_order_release, memory_order_relaxed));
}

void qt_outcome_flush(struct qt_session *s)
{
    if (s->chunk != NULL && s->chunk->n > 0) {
        push(s->engine, s->chunk);
        s->chunk = NULL;
    }
}

static struct qt_chunk *new_chunk(struct qt_session *s, int64_t now)
{
    int filled_fast = s->chunk_room > 0 && now - s->chunk_since_ns < OLDEST_NS / 4;
    uint32_t room = s->chunk_room == 0 ? FIRST_ROWS : filled_fast ? s->chunk_room * 2 : s->chunk_room;
    room = room > MOST_ROWS ? MOST_ROWS : room;
    struct qt_chunk *chunk = malloc(sizeof *chunk + room * sizeof *chunk->rows);
    if (chunk == NULL)
        return NULL;
    chunk->n = 0;
    chunk->room = room;
    chunk->session = s->id;
    s->chunk_room = room;
    s->chunk_since_ns = now;
    return chunk;
}

int qt_outcome_add(struct qt_session *s, const struct qt_outcome *row, int64_t now)
{
    struct qt_engine *e = s->engine;
    while (atomic_load_explicit(&e->pending_rows, memory_order_relaxed) > PENDING_MOST && atomic_load(&e->stop) < 2) {
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
    if (s->chunk == NULL && (s->chunk = new_chunk(s, now)) == NULL)
        return -1;
    s->chunk->rows[s->chunk->n++] = *row;
    if (s->chunk->n == s->chunk->room || now - s->chunk_since_ns > OLDEST_NS)
        qt_outcome_flush(s);
    atomic_fetch_add_explicit(row->executed ? &e->executed : &e->not_sent, 1, memory_order_relaxed);
    return 0;
}

/* ---- pulling ---- */

static int number(struct qt_columns *c, size_t column, int64_t value)
{
    if (value == QT_NONE)
        return qt_col_null(c, column);
    qt_col_i64(c, column, value);
    return 0;
}

static int text(struct qt_columns *c, size_t column, const char *value)
{
    return value == NULL ? qt_col_null(c, column) : qt_col_text(c, column, value, strlen(value));
}

static int add_row(struct qt_columns *c, int64_t session, const struct qt_outcome *o)
{
    if (qt_columns_room(c) != 0)
        return -1;
    qt_col_i64(c, SESSION, session);
    qt_col_i64(c, SEQ, o->seq);
    qt_col_i32(c, CLONE, 0);
    int bad = number(c, DUE, o->due_ns) | number(c, FED, o->fed_ns) | number(c, FREE, o->free_ns) | number(c, SENT, o->sent_ns);
    bad |= number(c, FIRST, o->first_ns) | number(c, DONE, o->done_ns);
    bad |= text(c, STATUS, o->executed ? "executed" : "not_sent") | text(c, REASON, reasons[o->reason]);
    bad |= number(c, ROWS_SENT, o->rows_sent) | number(c, ROWS_AFFECTED, o->rows_affected) | number(c, BYTES, o->bytes_received);
    bad |= number(c, WARNINGS, o->warnings < 0 ? QT_NONE : o->warnings);
    if (o->executed || o->error_number != 0)
        qt_col_i32(c, ERRNO, o->error_number);
    else
        bad |= qt_col_null(c, ERRNO);
    bad |= text(c, ERROR, o->error) | qt_col_null(c, CHECKSUM);
    if (bad)
        return -1;
    qt_columns_row(c);
    return 0;
}

static void free_chunk(struct qt_chunk *chunk)
{
    for (uint32_t i = 0; i < chunk->n; i++)
        free(chunk->rows[i].error);
    free(chunk);
}

void qt_outcome_drop(struct qt_engine *e)
{
    struct qt_chunk *chunk = atomic_exchange(&e->finished, NULL);
    while (chunk != NULL) {
        struct qt_chunk *next = chunk->next;
        free_chunk(chunk);
        chunk = next;
    }
}

/* Moves every finished chunk into the columns; a chunk is freed only when all of it is there. */
static int take(struct qt_engine *e, struct qt_columns *c)
{
    struct qt_chunk *chunk = atomic_exchange_explicit(&e->finished, NULL, memory_order_acquire);
    int bad = 0;
    while (chunk != NULL) {
        struct qt_chunk *next = chunk->next;
        for (uint32_t i = 0; i < chunk->n && !bad; i++)
            bad = add_row(c, chunk->session, &chunk->rows[i]);
        atomic_fetch_sub(&e->pending_rows, chunk->n);
        free_chunk(chunk);
        chunk = next;
    }
    return bad;
}

struct pull {
    struct qt_engine *engine;
    int64_t slice_ns, until_ns;
};

static int next_batch(void *owner, struct ArrowArray *out, struct qt_error *error)
{
    struct pull *p = owner;
    struct qt_engine *e = p->engine;
    struct qt_columns c;
    if (p->until_ns == 0)
        p->until_ns = qt_now() + p->slice_ns; /* the slice begins when the reader does */
    if (qt_columns_init(&c, columns, COLUMNS) != 0)
        return qt_fail(error, QT_ENOMEM, "out of memory for outcomes");
    int bad = 0;
    for (;;) {
        int last = atomic_load(&e->done) || qt_now() >= p->until_ns; /* looked at before taking: nothing is missed */
        bad = take(e, &c);
        if (bad || last || c.rows >= BATCH_ROWS)
            break;
        int64_t now = qt_now(), step = now + 100000000;
        qt_wait(&e->outcome_signal, atomic_load(&e->outcome_signal), step < p->until_ns ? step : p->until_ns);
    }
    if (!bad && c.rows > 0)
        bad = qt_columns_finish(&c, out);
    qt_columns_free(&c);
    return bad ? qt_fail(error, QT_ENOMEM, "out of memory for outcomes") : QT_OK;
}

static void done(void *owner)
{
    free(owner);
}

int qt_engine_outcomes(struct qt_engine *e, int64_t slice_ns, struct ArrowArrayStream *out, struct qt_error *error)
{
    struct pull *p = calloc(1, sizeof *p);
    if (p == NULL)
        return qt_fail(error, QT_ENOMEM, "out of memory");
    p->engine = e;
    p->slice_ns = slice_ns;
    struct qt_stream_source source = {p, columns, COLUMNS, next_batch, done};
    int code = qt_stream_make(&source, out, error);
    if (code)
        free(p);
    return code;
}
