/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome stream: columns `outcomes` of schemas/run.sql.
 *
 *   chunks handed over (records.c) ──enough, or half a second──► take ──► rows of one batch ──► the caller
 *                ▲                                                  │
 *                └──────────────── emptied, as spares ◄─────────────┘
 */
#include <stdlib.h>

#include "base/stream.h"
#include "base/utf8.h"
#include "engine/digest_times.h"
#include "engine/records.h"

enum { BATCH_ROWS = 65536, MAX_SPARES = 256 };
#define PATIENCE_NS (QT_SECOND / 2) /* few records wait no longer than this */

static const struct qt_column_spec SPECS[] = {
    {"session", 'l', 0},       {"seq", 'l', 0},
    {"clone", 'i', 0},         {"due_ns", 'l', 1},
    {"queued_ns", 'l', 1},     {"free_ns", 'l', 1},
    {"sent_ns", 'l', 1},       {"first_ns", 'l', 1},
    {"done_ns", 'l', 1},       {"status", 'u', 0},
    {"reason", 'u', 1},        {"rows_sent", 'l', 1},
    {"rows_affected", 'l', 1}, {"bytes_received", 'l', 1},
    {"warnings", 'l', 1},      {"errno", 'i', 1},
    {"error", 'u', 1},         {"checksum", 'u', 1},
    {"order_ns", 'l', 1},      {"on_read_target", 'b', 1},
};
enum { N_SPECS = sizeof SPECS / sizeof *SPECS };

static const char *const REASONS[] = QT_TEXTS_OF_REASONS;

struct slice {
    struct qt_engine *engine;
    struct qt_columns cols;
    int64_t length_ns, until_ns; /* until is 0 before the first pull */
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

static void put_record(struct qt_columns *cols, struct qt_record *r)
{
    const int64_t times[] = {r->due_ns, r->queued_ns, r->free_ns, r->sent_ns, r->first_ns, r->done_ns};
    struct qt_column *c = cols->col;

    qt_col_i64(c++, r->session & (((int64_t)1 << QT_SHIFT_CLONE) - 1));
    qt_col_i64(c++, r->seq);
    qt_col_i32(c++, (int32_t)(r->session >> QT_SHIFT_CLONE));
    for (int i = 0; i < 6; i++)
        put_number(c++, times[i]);
    qt_col_text(c++, r->reason == QT_EXECUTED ? "executed" : "not_sent");
    if (r->reason == QT_EXECUTED)
        qt_col_null(c++);
    else
        qt_col_text(c++, REASONS[r->reason]);
    put_number(c++, r->rows);
    put_number(c++, r->affected);
    put_number(c++, r->bytes);
    put_number(c++, r->warnings);
    if (r->reason == QT_EXECUTED || r->error_code != 0)
        qt_col_i32(c++, r->error_code);
    else
        qt_col_null(c++);
    if (r->error != NULL) {
        qt_utf8_repair(r->error); /* a server's message may hold any bytes of a statement */
        qt_col_text(c++, r->error);
    } else {
        qt_col_null(c++);
    }
    put_checksum(c++, r);
    put_number(c++, r->order_ns);
    if (r->reason == QT_EXECUTED)
        qt_col_bool(c, r->on_read_target);
    else
        qt_col_null(c);
    free(r->error);
    r->error = NULL;
}

/* Takes chunks of up to BATCH_ROWS; waits while there are few, as long as the slice lasts. NULL = end of the slice. */
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
        /* The first few records are not announced: look again now and then. */
        qt_out_wait(&out->more, &out->lock, until < now + PATIENCE_NS ? until : now + PATIENCE_NS);
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
    qt_chunks_free(chunk);
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
        qt_digest_times_note(sl->engine->digest_times, c->record, c->n);
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
    struct qt_stream_source source = {SPECS, N_SPECS, next_batch, close_slice, sl};
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
