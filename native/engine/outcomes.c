/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome stream, with the columns of table `outcomes` in schemas/run.sql.
 *
 *   chunks handed over ──enough, or half a second──► take ──► rows of one batch ──► the caller
 *                ▲                                                  │
 *                └──────────────── emptied, as spares ◄─────────────┘ */
#include "engine/outcomes.h"

#include <stdlib.h>

#include "base/arrow_build.h"
#include "base/arrow_stream.h"
#include "engine/digest_times.h"
#include "engine/engine_state.h"
#include "querytape_columns.h"

/* Waits for the condition. Returns 0 if the time has passed. */
static int await(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ns)
{
    struct timespec t = {.tv_sec = until_ns / QT_SECOND, .tv_nsec = until_ns % QT_SECOND};
    return pthread_cond_timedwait(cond, lock, &t) == 0;
}

/* Sessions collect records in chunks, so that the lock is taken once for many records:
 *
 *   session thread: chunk of 64 records ──full, or a second old──► out.first … out.last ──► slice
 *                        ▲                                                                     │ emptied
 *                        └───────────────────────────── out.spare ◄──────────────────────────┘
 *
 * If nobody reads the outcomes, session threads over the limit wait for the reader, but at most one second each time.
 * Memory then grows slowly, and the run continues. */
#define OLD_NS QT_SECOND

void qt_out_init(struct qt_engine *e)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&e->out.lock, NULL);
    pthread_cond_init(&e->out.more, &attr);
    pthread_cond_init(&e->out.less, &attr);
    pthread_condattr_destroy(&attr);
}

/* Frees a list of chunks and the texts of their records. */
static void free_chunks(struct qt_chunk *chunk)
{
    while (chunk != NULL) {
        struct qt_chunk *next = chunk->next;
        for (int i = 0; i < chunk->n; i++)
            free(chunk->record[i].error);
        free(chunk);
        chunk = next;
    }
}

void qt_out_free(struct qt_engine *e)
{
    free_chunks(e->out.first);
    free_chunks(e->out.spare);
    pthread_mutex_destroy(&e->out.lock);
    pthread_cond_destroy(&e->out.more);
    pthread_cond_destroy(&e->out.less);
}

void qt_out_done(struct qt_engine *e)
{
    pthread_mutex_lock(&e->out.lock);
    e->out.done = 1;
    pthread_cond_broadcast(&e->out.more);
    pthread_mutex_unlock(&e->out.lock);
}

void qt_records_hand_over(struct qt_session *s)
{
    struct qt_engine *e = s->engine;
    struct qt_out *out = &e->out;
    struct qt_chunk *chunk = s->chunk;

    if (chunk == NULL || chunk->n == 0)
        return;
    pthread_mutex_lock(&out->lock);
    if (out->records > QT_MAX_WAITING_RECORDS && !qt_stopping(e)) {
        int64_t until = qt_now() + QT_SECOND;
        while (out->records > QT_MAX_WAITING_RECORDS && !qt_stopping(e) && await(&out->less, &out->lock, until))
            ;
    }
    chunk->next = NULL;
    if (out->last != NULL)
        out->last->next = chunk;
    else
        out->first = chunk;
    out->last = chunk;
    out->records += chunk->n;
    if (out->records >= QT_ENOUGH_RECORDS && out->records - chunk->n < QT_ENOUGH_RECORDS)
        pthread_cond_signal(&out->more);
    s->chunk = out->spare;
    if (out->spare != NULL) {
        out->spare = out->spare->next;
        out->spares--;
    }
    pthread_mutex_unlock(&out->lock);
}

/* Returns NULL when out of memory. */
static struct qt_record *add_record(struct qt_session *s, int64_t now_ns)
{
    if (s->chunk != NULL && s->chunk->n > 0 &&
        (s->chunk->n == QT_CHUNK_RECORDS || now_ns - s->chunk->oldest_ns > OLD_NS))
        qt_records_hand_over(s);
    if (s->chunk == NULL) {
        s->chunk = malloc(sizeof *s->chunk);
        if (s->chunk == NULL)
            return NULL;
        s->chunk->n = 0;
    }
    if (s->chunk->n == 0)
        s->chunk->oldest_ns = now_ns;
    return &s->chunk->record[s->chunk->n++];
}

struct qt_record *qt_record_new(struct qt_session *s, const struct qt_planned_event *ev, int64_t now_ns)
{
    struct qt_record *r = add_record(s, now_ns);
    if (r == NULL)
        return NULL;
    *r = (struct qt_record){
        .session = s->id,
        .seq = ev->seq,
        .due_ns = qt_unpaced(s->engine) ? QT_NONE : ev->due_ns,
        .queued_ns = qt_from_zero(s->engine, ev->queued_ns),
        .free_ns = QT_NONE,
        .sent_ns = QT_NONE,
        .first_ns = QT_NONE,
        .done_ns = QT_NONE,
        .rows = QT_NONE,
        .affected = QT_NONE,
        .bytes = QT_NONE,
        .warnings = QT_NONE,
        .order_ns = QT_NONE,
        .digest = ev->digest,
    };
    return r;
}

enum { BATCH_ROWS = 65536, MAX_SPARES = 256 };
#define PATIENCE_NS (QT_SECOND / 2) /* longest wait when there are only a few records */

static const struct qt_column_spec SPECS[QT_OUTCOMES_COLUMNS] = QT_OUTCOMES_SPECS;

static const char *const REASONS[] = QT_TEXTS_OF_REASONS;

struct slice {
    struct qt_engine *engine;
    struct qt_columns cols;
    int64_t length_ns, until_ns; /* until_ns is 0 before the first pull */
};

static void put_number(struct qt_column *c, int64_t value)
{
    if (value == QT_NONE)
        qt_col_null(c);
    else
        qt_col_i64(c, value);
}

static void put_checksum(struct qt_column *c, const struct qt_record *r)
{
    char text[QT_CHECKSUM_ROOM] = "";
    if (r->sum.results > 0)
        qt_checksum_text(&r->sum, r->binary ? "binary" : "text", text);
    if (text[0] == 0)
        qt_col_null(c);
    else
        qt_col_text(c, text);
}

static void put_text(struct qt_column *c, const char *text)
{
    if (text == NULL)
        qt_col_null(c);
    else
        qt_col_text(c, text);
}

static void put_record(struct qt_columns *cols, struct qt_record *r)
{
    struct qt_column *c = cols->col;
    int executed = r->reason == QT_EXECUTED;

    qt_col_i64(&c[QT_OUTCOMES_SESSION], r->session & (((int64_t)1 << QT_SHIFT_CLONE) - 1));
    qt_col_i64(&c[QT_OUTCOMES_SEQ], r->seq);
    qt_col_i32(&c[QT_OUTCOMES_CLONE], (int32_t)(r->session >> QT_SHIFT_CLONE));
    put_number(&c[QT_OUTCOMES_DUE_NS], r->due_ns);
    put_number(&c[QT_OUTCOMES_QUEUED_NS], r->queued_ns);
    put_number(&c[QT_OUTCOMES_FREE_NS], r->free_ns);
    put_number(&c[QT_OUTCOMES_SENT_NS], r->sent_ns);
    put_number(&c[QT_OUTCOMES_FIRST_NS], r->first_ns);
    put_number(&c[QT_OUTCOMES_DONE_NS], r->done_ns);
    qt_col_text(&c[QT_OUTCOMES_STATUS], executed ? "executed" : "not_sent");
    put_text(&c[QT_OUTCOMES_REASON], executed ? NULL : REASONS[r->reason]);
    put_number(&c[QT_OUTCOMES_ROWS_SENT], r->rows);
    put_number(&c[QT_OUTCOMES_ROWS_AFFECTED], r->affected);
    put_number(&c[QT_OUTCOMES_BYTES_RECEIVED], r->bytes);
    put_number(&c[QT_OUTCOMES_WARNINGS], r->warnings);
    if (executed || r->error_code != 0)
        qt_col_i32(&c[QT_OUTCOMES_ERRNO], r->error_code);
    else
        qt_col_null(&c[QT_OUTCOMES_ERRNO]);
    if (r->error != NULL)
        qt_utf8_repair(r->error); /* a server message may contain any bytes of a statement */
    put_text(&c[QT_OUTCOMES_ERROR], r->error);
    put_checksum(&c[QT_OUTCOMES_CHECKSUM], r);
    put_number(&c[QT_OUTCOMES_ORDER_NS], r->order_ns);
    if (executed)
        qt_col_bool(&c[QT_OUTCOMES_ON_READ_TARGET], r->on_read_target);
    else
        qt_col_null(&c[QT_OUTCOMES_ON_READ_TARGET]);
    free(r->error);
    r->error = NULL;
}

/* Takes chunks with up to BATCH_ROWS records. Waits while there are only a few records, but at most until the slice
 * ends. Returns NULL at the end of the slice. */
static struct qt_chunk *take_chunks(struct slice *sl)
{
    struct qt_out *out = &sl->engine->out;
    int64_t patience = qt_now() + PATIENCE_NS, rows = 0;
    struct qt_chunk *first, *last = NULL;

    pthread_mutex_lock(&out->lock);
    while (out->records < QT_ENOUGH_RECORDS && !out->done) {
        int64_t now = qt_now();
        int64_t until = out->records > 0 && patience < sl->until_ns ? patience : sl->until_ns;
        if (now >= until)
            break;
        /* Wake up regularly, because a session does not signal its first few records. */
        await(&out->more, &out->lock, until < now + PATIENCE_NS ? until : now + PATIENCE_NS);
    }
    first = out->first;
    for (struct qt_chunk *c = first; c != NULL && rows + c->n <= BATCH_ROWS; c = c->next) {
        rows += c->n;
        last = c;
    }
    if (last != NULL) {
        out->first = last->next;
        if (out->first == NULL)
            out->last = NULL;
        last->next = NULL;
        out->records -= rows;
        pthread_cond_broadcast(&out->less);
    }
    pthread_mutex_unlock(&out->lock);
    return first;
}

static void give_back(struct qt_out *out, struct qt_chunk *chunk)
{
    pthread_mutex_lock(&out->lock);
    while (chunk != NULL && out->spares < MAX_SPARES) {
        struct qt_chunk *next = chunk->next;
        chunk->n = 0;
        chunk->next = out->spare;
        out->spare = chunk;
        out->spares++;
        chunk = next;
    }
    pthread_mutex_unlock(&out->lock);
    free_chunks(chunk);
}

static int next_batch(void *self, struct ArrowArray *array, struct qt_error *err)
{
    struct slice *sl = self;
    struct qt_chunk *chunks;

    if (sl->until_ns == 0)
        sl->until_ns = sl->length_ns > QT_FOREVER / 2 ? QT_FOREVER / 2 : qt_now() + sl->length_ns;
    else if (qt_now() >= sl->until_ns && !sl->engine->out.done)
        return QT_OK;
    chunks = take_chunks(sl);
    if (chunks == NULL)
        return QT_OK;
    for (struct qt_chunk *c = chunks; c != NULL; c = c->next) {
        qt_digest_times_note(sl->engine->measured.digest_times, c->record, c->n);
        for (int i = 0; i < c->n; i++)
            put_record(&sl->cols, &c->record[i]);
    }
    give_back(&sl->engine->out, chunks);
    return qt_columns_finish(&sl->cols, array, err);
}

static void close_slice(void *self)
{
    struct slice *sl = self;
    qt_columns_free(&sl->cols);
    free(sl);
}

int qt_engine_outcomes(struct qt_engine *e, int64_t slice_ns, struct ArrowArrayStream *out, struct qt_error *err)
{
    struct slice *sl = calloc(1, sizeof *sl);
    struct qt_stream_source source = {SPECS, QT_OUTCOMES_COLUMNS, next_batch, close_slice, sl};
    int code;

    if (sl == NULL || qt_columns_init(&sl->cols, SPECS, QT_OUTCOMES_COLUMNS) != QT_OK) {
        free(sl);
        return qt_fail(err, QT_ENOMEM, "out of memory for the outcomes of events");
    }
    sl->engine = e;
    sl->length_ns = slice_ns < 0 ? 0 : slice_ns;
    code = qt_stream_make(out, &source, err);
    if (code != QT_OK)
        close_slice(sl);
    return code;
}

/* The session results: one row per session, available after the end. The columns are those of table `sessions` in
 * schemas/run.sql. */
enum { SESSION_ROWS = 8192 };

static const struct qt_column_spec SESSION_SPECS[QT_SESSIONS_COLUMNS] = QT_SESSIONS_SPECS;

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
    int connected = s->connected_ns != 0;

    qt_col_i64(&c[QT_SESSIONS_SESSION], s->id & (((int64_t)1 << QT_SHIFT_CLONE) - 1));
    qt_col_i32(&c[QT_SESSIONS_CLONE], (int32_t)(s->id >> QT_SHIFT_CLONE));
    qt_col_bool(&c[QT_SESSIONS_OPENED_AHEAD], s->ahead);
    qt_col_i64(&c[QT_SESSIONS_CONNECT_DUE_NS], s->open_due_ns);
    put_time(e, &c[QT_SESSIONS_CONNECT_NS], s->connect_ns);
    put_time(e, &c[QT_SESSIONS_CONNECTED_NS], s->connected_ns);
    put_time(e, &c[QT_SESSIONS_CLOSED_NS], s->closed_ns);
    put_number(&c[QT_SESSIONS_THREAD_ID], connected ? s->backends[0].thread_id : QT_NONE);
    qt_col_i64(&c[QT_SESSIONS_EXECUTED], (int64_t)atomic_load(&s->executed));
    qt_col_i64(&c[QT_SESSIONS_INJECTED], (int64_t)atomic_load(&s->injected));
    if (!connected || s->in_transaction < 0)
        qt_col_null(&c[QT_SESSIONS_IN_TRANSACTION]);
    else
        qt_col_bool(&c[QT_SESSIONS_IN_TRANSACTION], s->in_transaction);
    qt_col_i32(&c[QT_SESSIONS_ERRNO], s->error_code);
    put_text(&c[QT_SESSIONS_ERROR], s->error);
}

static int next_sessions(void *self, struct ArrowArray *out, struct qt_error *err)
{
    struct cursor *cur = self;
    struct qt_engine *e = cur->engine;
    int64_t end = cur->at + SESSION_ROWS < e->table.n_sessions ? cur->at + SESSION_ROWS : e->table.n_sessions;

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
    struct qt_stream_source source = {SESSION_SPECS, QT_SESSIONS_COLUMNS, next_sessions, close_cursor, NULL};
    int code;

    if (atomic_load(&e->state) != QT_ENGINE_DONE)
        return qt_fail(err, QT_ESTATE, "the results of the sessions are available only after the run");
    source.self = cur = calloc(1, sizeof *cur);
    if (cur == NULL || qt_columns_init(&cur->cols, SESSION_SPECS, QT_SESSIONS_COLUMNS) != QT_OK) {
        free(cur);
        return qt_fail(err, QT_ENOMEM, "out of memory for the results of the sessions");
    }
    cur->engine = e;
    code = qt_stream_make(out, &source, err);
    if (code != QT_OK)
        close_cursor(cur);
    return code;
}
