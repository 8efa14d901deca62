/* SPDX-License-Identifier: Apache-2.0 */
/* From the sessions' records to the outcome stream.
 *
 *   session thread: chunk of 64 records ──full, or a second old──► out.first … out.last ──► the reader's batch
 *                        ▲                                                                     │ emptied
 *                        └───────────────────────────── out.spare ◄──────────────────────────┘
 *
 * Where nobody reads, session threads over the bound wait for the reader, but never for more than a second each time:
 * memory then grows slowly, and nothing ever stands still for good.
 */
#include "engine_private.h"

#include <stdlib.h>

enum { BATCH_ROWS = 65536, ENOUGH_ROWS = 8192, SPARES = 256 };
#define OLD_NS QT_SECOND
#define PATIENCE_NS (QT_SECOND / 2)

static const struct qt_column_spec SPECS[] = {
    {"session", 'l', 0},       {"seq", 'l', 0},            {"clone", 'i', 0},    {"due_ns", 'l', 1},
    {"fed_ns", 'l', 1},        {"free_ns", 'l', 1},        {"sent_ns", 'l', 1},  {"first_ns", 'l', 1},
    {"done_ns", 'l', 1},       {"status", 'u', 0},         {"reason", 'u', 1},   {"rows_sent", 'l', 1},
    {"rows_affected", 'l', 1}, {"bytes_received", 'l', 1}, {"warnings", 'l', 1}, {"errno", 'i', 1},
    {"error", 'u', 1},         {"checksum", 'u', 1},       {"order_ns", 'l', 1},    {"reader", 'b', 1},
};
enum { N_SPECS = sizeof SPECS / sizeof *SPECS };

static const char *const REASONS[] = {
    [QT_CONNECT_FAILED] = "connect_failed", [QT_CONNECTION_LOST] = "connection_lost", [QT_STOPPED] = "stopped",
    [QT_DRAIN_CUT] = "drain_cut",           [QT_SCHEMA_FAILED] = "schema_failed",     [QT_AFTER_QUIT] = "after_quit",
    [QT_UNSUPPORTED] = "unsupported",       [QT_NOT_PREPARED] = "not_prepared",       [QT_NO_CURSOR] = "no_cursor",
    [QT_UNFIT] = "params_unfit",            [QT_TRANSACTION_LOST] = "transaction_lost", [QT_OVERLOAD] = "overload",
    [QT_NO_VICTIM] = "no_victim",
};

int qt_out_init(struct qt_engine *e)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&e->out.lock, NULL);
    pthread_cond_init(&e->out.more, &attr);
    pthread_cond_init(&e->out.less, &attr);
    pthread_condattr_destroy(&attr);
    return QT_OK;
}

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

static int wait_on(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ns)
{
    struct timespec t = {.tv_sec = until_ns / QT_SECOND, .tv_nsec = until_ns % QT_SECOND};
    return pthread_cond_timedwait(cond, lock, &t) == 0;
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
        while (out->records > QT_MAX_WAITING_RECORDS && !qt_stopping(e) && wait_on(&out->less, &out->lock, until))
            ;
    }
    chunk->next = NULL;
    if (out->last != NULL)
        out->last->next = chunk;
    else
        out->first = chunk;
    out->last = chunk;
    out->records += chunk->n;
    if (out->records >= ENOUGH_ROWS && out->records - chunk->n < ENOUGH_ROWS)
        pthread_cond_signal(&out->more);
    s->chunk = out->spare;
    if (out->spare != NULL) {
        out->spare = out->spare->next;
        out->spares--;
    }
    pthread_mutex_unlock(&out->lock);
}

struct qt_record *qt_record_new(struct qt_session *s, int64_t now_ns)
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

/* ---- the reader -------------------------------------------------------------------------------------------- */

struct slice {
    struct qt_engine *engine;
    struct qt_columns cols;
    int64_t length_ns, until_ns; /* until is 0 before the first pull */
};

static void put(struct qt_column *c, int64_t value)
{
    if (value == QT_NONE)
        qt_col_null(c);
    else
        qt_col_i64(c, value);
}

/* A server's message may hold any bytes of a statement: what is not UTF-8 becomes '?'. In place. */
static void make_utf8(char *text)
{
    unsigned char *p = (unsigned char *)text;
    while (*p != 0) {
        int more = *p < 0x80 ? 0 : *p >= 0xC2 && *p < 0xE0 ? 1 : (*p & 0xF0) == 0xE0 ? 2 : *p >= 0xF0 && *p < 0xF5 ? 3 : -1;
        int good = more >= 0;
        for (int i = 1; good && i <= more; i++)
            good = (p[i] & 0xC0) == 0x80;
        if (good && ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) || (p[0] == 0xF0 && p[1] < 0x90) ||
                     (p[0] == 0xF4 && p[1] > 0x8F)))
            good = 0;
        if (!good)
            *p = '?';
        p += good ? 1 + more : 1;
    }
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

static void put_record(struct qt_columns *cols, struct qt_record *r)
{
    const int64_t times[] = {r->due_ns, r->fed_ns, r->free_ns, r->sent_ns, r->first_ns, r->done_ns};
    struct qt_column *c = cols->col;

    qt_col_i64(c++, r->session & (((int64_t)1 << QT_CLONE_SHIFT) - 1));
    qt_col_i64(c++, r->seq);
    qt_col_i32(c++, (int32_t)(r->session >> QT_CLONE_SHIFT));
    for (int i = 0; i < 6; i++)
        put(c++, times[i]);
    qt_col_text(c++, r->reason == QT_EXECUTED ? "executed" : "not_sent");
    if (r->reason == QT_EXECUTED)
        qt_col_null(c++);
    else
        qt_col_text(c++, REASONS[r->reason]);
    put(c++, r->rows);
    put(c++, r->affected);
    put(c++, r->bytes);
    put(c++, r->warnings);
    if (r->reason == QT_EXECUTED || r->error_code != 0)
        qt_col_i32(c++, r->error_code);
    else
        qt_col_null(c++);
    if (r->error != NULL) {
        make_utf8(r->error);
        qt_col_text(c++, r->error);
    } else {
        qt_col_null(c++);
    }
    put_checksum(c++, r);
    put(c++, r->order_ns);
    if (r->reason == QT_EXECUTED)
        qt_col_bool(c, r->reader);
    else
        qt_col_null(c);
    free(r->error);
    r->error = NULL;
}

/* Takes chunks of up to BATCH_ROWS; waits while there are few, as long as the slice lasts. NULL = end of the slice. */
static struct qt_chunk *take(struct slice *sl)
{
    struct qt_out *out = &sl->engine->out;
    int64_t patience = qt_now() + PATIENCE_NS, rows = 0;
    struct qt_chunk *first, *last = NULL;

    pthread_mutex_lock(&out->lock);
    while (out->records < ENOUGH_ROWS && !out->done) {
        int64_t now = qt_now();
        int64_t until = out->records > 0 && patience < sl->until_ns ? patience : sl->until_ns;
        if (now >= until)
            break;
        /* Nobody tells of the first few records: look again now and then. */
        wait_on(&out->more, &out->lock, until < now + PATIENCE_NS ? until : now + PATIENCE_NS);
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
    while (chunk != NULL && out->spares < SPARES) {
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

static int next(void *self, struct ArrowArray *array, struct qt_error *err)
{
    struct slice *sl = self;
    struct qt_chunk *chunks;

    if (sl->until_ns == 0)
        sl->until_ns = sl->length_ns > QT_FOREVER / 2 ? QT_FOREVER / 2 : qt_now() + sl->length_ns;
    else if (qt_now() >= sl->until_ns && !sl->engine->out.done)
        return QT_OK;
    chunks = take(sl);
    if (chunks == NULL)
        return QT_OK;
    for (struct qt_chunk *c = chunks; c != NULL; c = c->next)
        for (int i = 0; i < c->n; i++)
            put_record(&sl->cols, &c->record[i]);
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
    struct qt_stream_source source = {SPECS, N_SPECS, next, close_slice, sl};
    int code;

    if (sl == NULL || qt_columns_init(&sl->cols, SPECS, N_SPECS) != QT_OK) {
        free(sl);
        return qt_fail(err, QT_ENOMEM, "out of memory for the outcomes");
    }
    sl->engine = e;
    sl->length_ns = slice_ns < 0 ? 0 : slice_ns;
    code = qt_stream_make(out, &source, err);
    if (code != QT_OK)
        close_slice(sl);
    return code;
}
