/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep as a stream. It reads events, sorted by lo, session, seq, and returns rows. It runs in the thread that
 * reads the stream. */
#include <stdlib.h>
#include <string.h>

#include "base/arrow_stream.h"
#include "base/error.h"
#include "sweep/moments.h"
#include "sweep/numbers.h"
#include "sweep/rows.h"
#include "sweep/take.h"
#include "sweep/transactions.h"

enum { PIECE = 1024, BATCH_ROWS = 16384 };
/* Columns of the event stream. */
enum { SESSION, SEQ, TAPE_NS, AT_NS, LO_NS, HI_NS, DIGEST, TX_FIRST, TX_END, FACTS };
#define FORMATS "llllllllll"
static const struct qt_column_spec SPECS[] = {
    {"session", 'l', 0}, {"seq", 'l', 0}, {"tape_ns", 'l', 0}, {"waits", 'u', 0}};
enum { N_COLUMNS = sizeof SPECS / sizeof *SPECS };

struct swept {
    struct qt_sweep sweep;
    struct ArrowArrayStream *events;
    struct qt_rows rows;
    int64_t row, taken;
    int opened, ended;
    struct qt_columns out;
    struct qt_use *uses;
    int64_t *first_use;
    uint8_t *user_lock; /* by digest */
};

static const struct qt_use UNKNOWN = {QT_TABLE_UNKNOWN, 1, 1, 0};

static void take_row(struct swept *w)
{
    const struct qt_rows *r = &w->rows;
    struct qt_sweep *s = &w->sweep;
    int64_t facts = qt_read_i64(r, FACTS, w->row), digest = qt_read_i64(r, DIGEST, w->row);
    struct qt_event e = {
        .session = qt_read_i64(r, SESSION, w->row),
        .seq = qt_read_i64(r, SEQ, w->row),
        .tape_ns = qt_read_i64(r, TAPE_NS, w->row),
        .at_ns = qt_read_i64(r, AT_NS, w->row),
        .lo_ns = qt_read_i64(r, LO_NS, w->row),
        .hi_ns = qt_read_i64(r, HI_NS, w->row),
        .from_ns = qt_read_i64(r, LO_NS, w->row),
        .is_long = (facts & QT_FACT_LONG) != 0,
        .locks = (facts & QT_FACT_LOCKS) != 0,
        .exclusive = (facts & QT_FACT_EXCLUSIVE) != 0,
        .is_last = (facts & QT_FACT_LAST) != 0,
    };
    if (digest >= 0 && digest < s->n_digests) {
        e.uses = s->uses + s->first_use[digest];
        e.n_uses = (int32_t)(s->first_use[digest + 1] - s->first_use[digest]);
        e.user_lock = w->user_lock[digest];
    } else if (digest < 0 && (facts & QT_FACT_STATEMENT)) {
        e.uses = &UNKNOWN;
        e.n_uses = 1;
    }
    qt_sweep_moments_until(s, e.lo_ns);
    qt_sweep_take(s, &e, qt_read_i64(r, TX_FIRST, w->row), qt_read_i64(r, TX_END, w->row), (facts & QT_FACT_OWN) != 0,
                  (facts & QT_FACT_READS) != 0);
    w->row++;
    if (++w->taken % PIECE == 0)
        qt_sweep_number_until(s, qt_sweep_moments_bound(s));
}

static void end(struct swept *w)
{
    w->ended = 1;
    qt_sweep_end(&w->sweep);
    qt_sweep_number_until(&w->sweep, INT64_MAX);
}

static int next(void *self, struct ArrowArray *out, struct qt_error *err)
{
    struct swept *w = self;
    int code = w->opened ? QT_OK : qt_rows_open(&w->rows, w->events, FORMATS, err);
    w->opened = 1;
    while (code == QT_OK && !w->ended && !w->sweep.failed && qt_columns_rows(&w->out) < BATCH_ROWS) {
        if (w->row < w->rows.rows) {
            take_row(w);
            continue;
        }
        code = qt_rows_next(&w->rows, err);
        w->row = 0;
        if (code == QT_OK && w->rows.rows == 0)
            end(w);
    }
    if (code == QT_OK && w->sweep.failed)
        code = qt_fail(err, QT_ENOMEM, "out of memory for ordering the commits");
    return code == QT_OK && qt_columns_rows(&w->out) > 0 ? qt_columns_finish(&w->out, out, err) : code;
}

static void close_stream(void *self)
{
    struct swept *w = self;
    qt_rows_close(&w->rows);
    qt_columns_free(&w->out);
    qt_sweep_free_transactions(&w->sweep);
    qt_sweep_clear(&w->sweep);
    free(w->uses);
    free(w->first_use);
    free(w->user_lock);
    free(w);
}

/* Reads the tables that each digest uses. */
static int read_uses(struct swept *w, const struct qt_sweep_options *o, struct qt_error *err)
{
    struct qt_sweep *s = &w->sweep;
    int64_t n = 0;
    w->user_lock = calloc((size_t)o->n_digests + 1, sizeof *w->user_lock);
    w->uses = calloc((size_t)o->n_uses + 1, sizeof *w->uses);
    w->first_use = calloc((size_t)o->n_digests + 1, sizeof *w->first_use);
    s->table = calloc((size_t)o->n_tables, sizeof *s->table);
    if (w->uses == NULL || w->first_use == NULL || w->user_lock == NULL || s->table == NULL)
        return qt_fail(err, QT_ENOMEM, "out of memory for ordering the commits");
    s->n_tables = o->n_tables;
    s->n_digests = o->n_digests;
    for (int64_t i = 0; i < o->n_uses; i++) {
        const struct qt_sweep_use *use = &o->uses[i];
        if (use->table < 0 || use->table >= o->n_tables || use->digest < 0 || use->digest >= o->n_digests ||
            (i > 0 && use->digest < o->uses[i - 1].digest))
            return qt_fail(err, QT_EINVALID,
                           "the list of tables is not sorted by digest, or contains an invalid number");
        if (use->table == QT_TABLE_USER_LOCKS) {
            w->user_lock[use->digest] |= (uint8_t)use->what;
            continue;
        }
        w->uses[n++] = (struct qt_use){use->table, (use->what & QT_USE_ASKS) != 0, (use->what & QT_USE_ADDS_ROWS) != 0,
                                       (use->what & QT_USE_LATER) != 0};
        w->first_use[use->digest + 1] = n;
        s->table[use->table].adds |= (use->what & QT_USE_ADDS_ROWS) != 0;
        s->table[QT_TABLE_ALL].adds |= (use->what & QT_USE_ADDS_ROWS) != 0;
    }
    for (int64_t i = 1; i <= o->n_digests; i++)
        if (w->first_use[i] < w->first_use[i - 1])
            w->first_use[i] = w->first_use[i - 1];
    for (int32_t i = 0; i < o->n_tables; i++) {
        s->table[i].is_long = o->is_long[i] != 0;
        s->table[i].is_exclusive = o->is_exclusive[i] != 0;
        s->table[i].released_ns = s->table[i].closed_ns = s->table[i].whole_ns = INT64_MIN / 2;
    }
    if (o->unknown)
        s->table[QT_TABLE_ALL].adds = s->table[QT_TABLE_UNKNOWN].adds = 1;
    s->uses = w->uses;
    s->first_use = w->first_use;
    return QT_OK;
}

int qt_sweep_stream(struct ArrowArrayStream *events, const struct qt_sweep_options *o, struct ArrowArrayStream *out,
                    struct qt_error *err)
{
    struct swept *w = calloc(1, sizeof *w);
    int code;
    if (w == NULL)
        return qt_fail(err, QT_ENOMEM, "out of memory");
    w->events = events;
    w->sweep.times = (enum qt_times)o->times;
    w->sweep.unknown = o->unknown != 0;
    w->sweep.overlap_ns = o->overlap_ns;
    w->sweep.rows = &w->out;
    struct qt_stream_source source = {SPECS, N_COLUMNS, next, close_stream, w};
    code = read_uses(w, o, err);
    if (code == QT_OK)
        code = qt_columns_init(&w->out, SPECS, N_COLUMNS);
    if (code == QT_OK)
        code = qt_stream_make(out, &source, err);
    if (code != QT_OK)
        close_stream(w);
    return code;
}
