/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of the events stream: what a slow log can know of a tape's events (schemas/tape.sql has the rest as NULL). */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "slowlog_private.h"
#include "stream.h"

static const struct qt_column_spec columns[QT_SLOW_COLUMNS] = {
    [QT_SC_SESSION] = {"session", "l"},
    [QT_SC_SEQ] = {"seq", "l"},
    [QT_SC_THREAD_ID] = {"thread_id", "l"},
    [QT_SC_COMMAND] = {"command", "u"},
    [QT_SC_START_NS] = {"start_ns", "l"},
    [QT_SC_DURATION_NS] = {"duration_ns", "l"},
    [QT_SC_PRECISION_NS] = {"precision_ns", "l"},
    [QT_SC_USER] = {"user", "u"},
    [QT_SC_HOST] = {"host", "u"},
    [QT_SC_DB] = {"db", "u"},
    [QT_SC_STATEMENT] = {"statement", "z"},
    [QT_SC_INSERT_ID] = {"insert_id", "l"},
    [QT_SC_LAST_INSERT_ID] = {"last_insert_id", "l"},
    [QT_SC_FILE] = {"file", "i"},
    [QT_SC_OFFSET] = {"offset", "l"},
    [QT_SC_DIGEST] = {"digest", "u"},
    [QT_SC_CLASS] = {"class", "u"},
    [QT_SC_ROWS_SENT] = {"rows_sent", "l"},
    [QT_SC_ROWS_EXAMINED] = {"rows_examined", "l"},
    [QT_SC_ROWS_AFFECTED] = {"rows_affected", "l"},
    [QT_SC_BYTES_SENT] = {"bytes_sent", "l"},
    [QT_SC_LOCK_NS] = {"lock_ns", "l"},
    [QT_SC_WARNINGS] = {"warnings", "l"},
    [QT_SC_ERRNO] = {"errno", "i"},
    [QT_SC_FLAGS] = {"flags", "l"},
};

static const char *const class_names[] = {"read", "write", "transaction", "session", "ddl", "admin"};

int qt_slow_batch_init(struct qt_slow_batch *b)
{
    memset(b, 0, sizeof *b);
    return qt_columns_init(&b->columns, columns, QT_SLOW_COLUMNS);
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
    return qt_columns_room(&b->columns);
}

static int known(struct qt_columns *c, size_t column, int64_t value)
{
    if (value < 0)
        return qt_col_null(c, column);
    qt_col_i64(c, column, value);
    return 0;
}

static int text(struct qt_columns *c, size_t column, struct qt_span span)
{
    return span.p == NULL ? qt_col_null(c, column) : qt_col_text(c, column, span.p, span.len);
}

static int statement_columns(struct qt_columns *c, const struct qt_slow_row *row)
{
    static const char hex[] = "0123456789abcdef";
    if (row->statement == NULL || row->text.p == NULL)
        return qt_col_null(c, QT_SC_STATEMENT) | qt_col_null(c, QT_SC_DIGEST) | qt_col_null(c, QT_SC_CLASS);
    char digest[16];
    uint64_t value = row->statement->digest;
    for (int i = 15; i >= 0; i--, value >>= 4)
        digest[i] = hex[value & 15];
    const char *name = class_names[row->statement->klass];
    return qt_col_bytes(c, QT_SC_STATEMENT, row->text.p, row->text.len) | qt_col_bytes(c, QT_SC_DIGEST, digest, 16) |
           qt_col_bytes(c, QT_SC_CLASS, name, strlen(name));
}

int qt_slow_batch_add(struct qt_slow_batch *b, const struct qt_slow_row *row, const struct qt_moment *moment)
{
    struct qt_columns *c = &b->columns;
    const struct qt_slow_event *e = row->event;
    qt_col_i64(c, QT_SC_SESSION, row->entry->session);
    qt_col_i64(c, QT_SC_SEQ, row->entry->seq);
    qt_col_i64(c, QT_SC_PRECISION_NS, row->precision_ns);
    qt_col_i32(c, QT_SC_FILE, (int32_t)row->file);
    qt_col_i64(c, QT_SC_OFFSET, row->offset);
    qt_col_i64(c, QT_SC_START_NS, 0); /* start, duration and flags are laid when the batch is whole */
    qt_col_i64(c, QT_SC_FLAGS, 0);
    int bad = known(c, QT_SC_DURATION_NS, moment->duration_ns);
    bad |= known(c, QT_SC_THREAD_ID, row->thread_id);
    bad |= qt_col_bytes(c, QT_SC_COMMAND, row->command, strlen(row->command));
    bad |= text(c, QT_SC_USER, row->user) | text(c, QT_SC_HOST, row->host) | text(c, QT_SC_DB, row->db);
    bad |= statement_columns(c, row);
    bad |= known(c, QT_SC_INSERT_ID, e->insert_id) | known(c, QT_SC_LAST_INSERT_ID, e->last_insert_id);
    bad |= known(c, QT_SC_ROWS_SENT, e->rows_sent) | known(c, QT_SC_ROWS_EXAMINED, e->rows_examined);
    bad |= known(c, QT_SC_ROWS_AFFECTED, e->rows_affected) | known(c, QT_SC_BYTES_SENT, e->bytes_sent);
    bad |= known(c, QT_SC_LOCK_NS, e->lock_ns) | known(c, QT_SC_WARNINGS, e->warnings);
    if (e->errno_ < 0 || e->errno_ > INT32_MAX)
        bad |= qt_col_null(c, QT_SC_ERRNO);
    else
        qt_col_i32(c, QT_SC_ERRNO, (int32_t)e->errno_);
    if (bad)
        return -1;
    qt_columns_row(c);
    b->moments[b->rows++] = *moment;
    b->bytes += row->text.p != NULL ? row->text.len : 0;
    return 0;
}

static void lay_out(struct qt_slowlog *s)
{
    struct qt_slow_batch *b = &s->batch;
    int64_t *start = b->columns.columns[QT_SC_START_NS].values;
    int64_t *duration = b->columns.columns[QT_SC_DURATION_NS].values;
    int64_t *flags = b->columns.columns[QT_SC_FLAGS].values;
    int64_t first = atomic_load(&s->first_ns), last = atomic_load(&s->last_ns);
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
    return qt_columns_finish(&b->columns, out) == 0 ? QT_OK : qt_fail(error, QT_ENOMEM, "out of memory for a batch");
}

int qt_slowlog_part(struct qt_slowlog *s, uint64_t max_rows, uint64_t max_bytes, struct ArrowArrayStream *out,
                    struct qt_error *error)
{
    struct qt_stream_source source = {s, columns, QT_SLOW_COLUMNS, next_batch, NULL};
    s->part_rows = max_rows;
    s->part_bytes = max_bytes;
    s->part_rows_done = s->part_bytes_done = 0;
    return qt_stream_make(&source, out, error);
}
