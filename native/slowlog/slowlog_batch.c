/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of the events stream: what a slow log can know of a tape's events (schemas/tape.sql has the rest as NULL). */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "slowlog_private.h"
#include "stream.h"
#include "utf8.h"

static const struct qt_column_spec columns[QT_SLOW_COLUMNS] = {
    [QT_SC_SESSION] = {"session", 'l', 1},
    [QT_SC_SEQ] = {"seq", 'l', 1},
    [QT_SC_THREAD_ID] = {"thread_id", 'l', 1},
    [QT_SC_COMMAND] = {"command", 'u', 1},
    [QT_SC_START_NS] = {"start_ns", 'l', 1},
    [QT_SC_DURATION_NS] = {"duration_ns", 'l', 1},
    [QT_SC_PRECISION_NS] = {"precision_ns", 'l', 1},
    [QT_SC_USER] = {"user", 'u', 1},
    [QT_SC_HOST] = {"host", 'u', 1},
    [QT_SC_DB] = {"db", 'u', 1},
    [QT_SC_STATEMENT] = {"statement", 'z', 1},
    [QT_SC_INSERT_ID] = {"insert_id", 'l', 1},
    [QT_SC_LAST_INSERT_ID] = {"last_insert_id", 'l', 1},
    [QT_SC_FILE] = {"file", 'i', 1},
    [QT_SC_OFFSET] = {"offset", 'l', 1},
    [QT_SC_DIGEST] = {"digest", 'u', 1},
    [QT_SC_CLASS] = {"class", 'u', 1},
    [QT_SC_ROWS_SENT] = {"rows_sent", 'l', 1},
    [QT_SC_ROWS_EXAMINED] = {"rows_examined", 'l', 1},
    [QT_SC_ROWS_AFFECTED] = {"rows_affected", 'l', 1},
    [QT_SC_BYTES_SENT] = {"bytes_sent", 'l', 1},
    [QT_SC_LOCK_NS] = {"lock_ns", 'l', 1},
    [QT_SC_WARNINGS] = {"warnings", 'l', 1},
    [QT_SC_ERRNO] = {"errno", 'i', 1},
    [QT_SC_FLAGS] = {"flags", 'l', 1},
};

static const char *const class_names[] = {"read", "write", "transaction", "session", "ddl", "admin"};

int qt_slow_batch_init(struct qt_slow_batch *b)
{
    memset(b, 0, sizeof *b);
    return qt_columns_init(&b->columns, columns, QT_SLOW_COLUMNS) == QT_OK ? 0 : -1;
}

void qt_slow_batch_free(struct qt_slow_batch *b)
{
    qt_columns_free(&b->columns);
    free(b->moments);
    b->moments = NULL;
}

int qt_slow_batch_room(struct qt_slow_batch *b)
{
    if (b->rows == b->room) {
        size_t room = b->room ? b->room * 2 : 4096;
        struct qt_moment *moments = realloc(b->moments, room * sizeof *moments);
        if (moments == NULL)
            return -1;
        b->moments = moments;
        b->room = room;
    }
    return 0;
}

static void known(struct qt_column *c, int64_t value)
{
    if (value < 0)
        qt_col_null(c);
    else
        qt_col_i64(c, value);
}

static void text(struct qt_column *c, struct qt_span span)
{
    if (span.p == NULL)
        qt_col_null(c);
    else
        qt_col_any_text(c, span.p, span.len);
}

static void statement_columns(struct qt_column *c, const struct qt_slow_row *row)
{
    static const char hex[] = "0123456789abcdef";
    if (row->statement == NULL || row->text.p == NULL) {
        qt_col_null(&c[QT_SC_STATEMENT]);
        qt_col_null(&c[QT_SC_DIGEST]);
        qt_col_null(&c[QT_SC_CLASS]);
        return;
    }
    char digest[16];
    uint64_t value = row->statement->digest;
    for (int i = 15; i >= 0; i--, value >>= 4)
        digest[i] = hex[value & 15];
    qt_col_bytes(&c[QT_SC_STATEMENT], row->text.p, row->text.len);
    qt_col_bytes(&c[QT_SC_DIGEST], digest, 16);
    qt_col_text(&c[QT_SC_CLASS], class_names[row->statement->klass]);
}

void qt_slow_batch_add(struct qt_slow_batch *b, const struct qt_slow_row *row, const struct qt_moment *moment)
{
    struct qt_column *c = b->columns.col;
    const struct qt_slow_event *e = row->event;
    qt_col_i64(&c[QT_SC_SESSION], row->entry->session);
    qt_col_i64(&c[QT_SC_SEQ], row->entry->seq);
    qt_col_i64(&c[QT_SC_PRECISION_NS], row->precision_ns);
    qt_col_i32(&c[QT_SC_FILE], (int32_t)row->file);
    qt_col_i64(&c[QT_SC_OFFSET], row->offset);
    qt_col_i64(&c[QT_SC_START_NS], 0); /* start, duration and flags are laid when the batch is whole */
    qt_col_i64(&c[QT_SC_FLAGS], 0);
    known(&c[QT_SC_DURATION_NS], moment->duration_ns);
    known(&c[QT_SC_THREAD_ID], row->thread_id);
    qt_col_text(&c[QT_SC_COMMAND], row->command);
    text(&c[QT_SC_USER], row->user);
    text(&c[QT_SC_HOST], row->host);
    text(&c[QT_SC_DB], row->db);
    statement_columns(c, row);
    known(&c[QT_SC_INSERT_ID], e->insert_id);
    known(&c[QT_SC_LAST_INSERT_ID], e->last_insert_id);
    known(&c[QT_SC_ROWS_SENT], e->rows_sent);
    known(&c[QT_SC_ROWS_EXAMINED], e->rows_examined);
    known(&c[QT_SC_ROWS_AFFECTED], e->rows_affected);
    known(&c[QT_SC_BYTES_SENT], e->bytes_sent);
    known(&c[QT_SC_LOCK_NS], e->lock_ns);
    known(&c[QT_SC_WARNINGS], e->warnings);
    if (e->errno_ < 0 || e->errno_ > INT32_MAX)
        qt_col_null(&c[QT_SC_ERRNO]);
    else
        qt_col_i32(&c[QT_SC_ERRNO], (int32_t)e->errno_);
    b->moments[b->rows++] = *moment;
    b->bytes += row->text.p != NULL ? row->text.len : 0;
}

/* The laid-out column; NULL when out of memory, which qt_columns_finish reports. */
static int64_t *laid(const struct qt_slow_batch *b, int column)
{
    const struct qt_column *c = &b->columns.col[column];
    return c->failed || c->rows != (int64_t)b->rows ? NULL : (int64_t *)(void *)c->data;
}

static void lay_out(struct qt_slowlog *s)
{
    struct qt_slow_batch *b = &s->batch;
    int64_t *start = laid(b, QT_SC_START_NS), *duration = laid(b, QT_SC_DURATION_NS), *flags = laid(b, QT_SC_FLAGS);
    int64_t first = atomic_load(&s->first_ns), last = atomic_load(&s->last_ns);
    if (start == NULL || duration == NULL || flags == NULL)
        return;
    qt_timeline_lay(&s->timeline, &s->sessions, b->moments, b->rows);
    for (size_t i = 0; i < b->rows; i++) {
        const struct qt_moment *m = &b->moments[i];
        int64_t end = m->start_ns + (m->duration_ns > 0 ? m->duration_ns : 0);
        start[i] = m->start_ns;
        if (m->duration_ns >= 0)
            duration[i] = m->duration_ns;
        flags[i] = m->flags;
        first = m->start_ns < first ? m->start_ns : first;
        last = end > last ? end : last;
    }
    atomic_store(&s->first_ns, first);
    atomic_store(&s->last_ns, last);
}

static int next_batch(void *owner, struct ArrowArray *out, struct qt_error *error)
{
    struct qt_slowlog *s = owner;
    struct qt_slow_batch *b = &s->batch;
    if (s->part_rows_done >= s->part_rows || s->part_bytes_done >= s->part_bytes)
        return QT_OK;
    int code = qt_slow_read_batch(s, error);
    if (code)
        return code;
    if (b->rows == 0) {
        atomic_store(&s->finished, 1);
        return QT_OK;
    }
    lay_out(s);
    s->part_rows_done += b->rows;
    s->part_bytes_done += b->bytes;
    b->rows = 0;
    b->bytes = 0;
    return qt_columns_finish(&b->columns, out, error);
}

int qt_slowlog_part(struct qt_slowlog *s, uint64_t max_rows, uint64_t max_bytes, struct ArrowArrayStream *out,
                    struct qt_error *error)
{
    struct qt_stream_source source = {columns, QT_SLOW_COLUMNS, next_batch, NULL, s};
    s->part_rows = max_rows;
    s->part_bytes = max_bytes;
    s->part_rows_done = s->part_bytes_done = 0;
    return qt_stream_make(out, &source, error);
}
