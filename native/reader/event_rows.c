/* SPDX-License-Identifier: Apache-2.0 */
/* Data flow of event rows:
 *
 *   a source's rows -> one column each -> times assigned -> order by start, session, seq -> one Arrow batch
 *
 * The columns and their order are those of schemas/tape.sql. */
#include "reader/event_rows.h"

#include "base/sort_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/arrow_build.h"
#include "querytape_columns.h"

const struct qt_column_spec qt_event_columns[QT_EVENTS_COLUMNS] = QT_EVENTS_SPECS;
const int32_t qt_event_n_columns = QT_EVENTS_COLUMNS;

const struct qt_event_row qt_event_unknown = {
    .session = -1,
    .seq = -1,
    .thread_id = -1,
    .start_ns = -1,
    .duration_ns = -1,
    .precision_ns = -1,
    .stmt = -1,
    .insert_id = -1,
    .last_insert_id = -1,
    .rows_sent = -1,
    .rows_examined = -1,
    .rows_affected = -1,
    .bytes_sent = -1,
    .lock_ns = -1,
    .warnings = -1,
    .errno_ = -1,
    .request_ns = -1,
    .first_byte_ns = -1,
};

static const char *const class_names[] = QT_TEXTS_OF_CLASSES;

void qt_event_set_statement(struct qt_event_row *e, struct qt_span text, const struct qt_statement *what)
{
    e->what = what;
    e->statement = what->redacted != NULL ? (struct qt_span){what->redacted, what->redacted_len} : text;
    e->flags |= what->flags | (uint32_t)what->danger << 16;
}

int qt_event_batch_init(struct qt_event_batch *b)
{
    memset(b, 0, sizeof *b);
    return qt_columns_init(&b->columns, qt_event_columns, QT_EVENTS_COLUMNS) == QT_OK ? 0 : -1;
}

void qt_event_batch_free(struct qt_event_batch *b)
{
    qt_columns_free(&b->columns);
    free(b->event_times);
    free(b->order);
    b->event_times = NULL;
    b->order = NULL;
}

static int room_for_event_time(struct qt_event_batch *b)
{
    if (b->rows < b->room)
        return 0;
    size_t room = b->room ? b->room * 2 : 4096;
    struct qt_event_time *event_times = realloc(b->event_times, room * sizeof *event_times);
    if (event_times == NULL)
        return -1;
    b->event_times = event_times;
    b->room = room;
    return 0;
}

/* Returns a column for appending a known value. Unknown values are not written. qt_column_pad later adds their NULLs in
 * bulk, before the next known value or at the end. */
static struct qt_column *at(struct qt_event_batch *b, int column)
{
    struct qt_column *c = &b->columns.col[column];
    if (c->rows < (int64_t)b->rows)
        qt_column_pad(c, (int64_t)b->rows);
    return c;
}

static void known(struct qt_event_batch *b, int column, int64_t value)
{
    if (value >= 0)
        qt_col_i64(at(b, column), value);
}

static void text(struct qt_event_batch *b, int column, struct qt_span span)
{
    if (span.p != NULL)
        qt_col_any_text(at(b, column), span.p, span.len);
}

static void bytes(struct qt_event_batch *b, int column, struct qt_span span)
{
    if (span.p != NULL)
        qt_col_bytes(at(b, column), span.p, span.len);
}

static void digest_class_actions(struct qt_event_batch *b, const struct qt_statement *what)
{
    static const char hex[] = "0123456789abcdef";
    if (what == NULL)
        return;
    char digest[16];
    uint64_t value = what->digest;
    for (int i = 15; i >= 0; i--, value >>= 4)
        digest[i] = hex[value & 15];
    qt_col_bytes(at(b, QT_EVENTS_DIGEST), digest, 16);
    qt_col_text(at(b, QT_EVENTS_CLASS), class_names[what->klass]);
    qt_col_i64(at(b, QT_EVENTS_ACTIONS), what->actions);
}

int qt_event_batch_add(struct qt_event_batch *b, const struct qt_event_row *e, const struct qt_event_time *event_time)
{
    struct qt_column *c = b->columns.col;
    if (event_time != NULL && room_for_event_time(b) != 0)
        return -1;
    qt_col_i64(&c[QT_EVENTS_SESSION], e->session);
    qt_col_i64(&c[QT_EVENTS_SEQ], e->seq);
    known(b, QT_EVENTS_THREAD_ID, e->thread_id);
    qt_col_text(&c[QT_EVENTS_COMMAND], e->command);
    qt_col_i64(&c[QT_EVENTS_START_NS], event_time != NULL ? 0 : e->start_ns);
    known(b, QT_EVENTS_DURATION_NS, event_time != NULL ? event_time->duration_ns : e->duration_ns);
    qt_col_i64(&c[QT_EVENTS_PRECISION_NS], e->precision_ns);
    known(b, QT_EVENTS_REQUEST_NS, e->request_ns);
    known(b, QT_EVENTS_FIRST_BYTE_NS, e->first_byte_ns);
    text(b, QT_EVENTS_USER, e->user);
    text(b, QT_EVENTS_HOST, e->host);
    text(b, QT_EVENTS_DB, e->db);
    bytes(b, QT_EVENTS_STATEMENT, e->statement);
    known(b, QT_EVENTS_STMT, e->stmt);
    bytes(b, QT_EVENTS_PARAMS, e->params);
    known(b, QT_EVENTS_INSERT_ID, e->insert_id);
    text(b, QT_EVENTS_INSERT_IDS, e->insert_ids);
    known(b, QT_EVENTS_LAST_INSERT_ID, e->last_insert_id);
    qt_col_i32(&c[QT_EVENTS_FILE], (int32_t)e->file);
    qt_col_i64(&c[QT_EVENTS_OFFSET], e->offset);
    digest_class_actions(b, e->what);
    known(b, QT_EVENTS_ROWS_SENT, e->rows_sent);
    known(b, QT_EVENTS_ROWS_EXAMINED, e->rows_examined);
    known(b, QT_EVENTS_ROWS_AFFECTED, e->rows_affected);
    known(b, QT_EVENTS_BYTES_SENT, e->bytes_sent);
    known(b, QT_EVENTS_LOCK_NS, e->lock_ns);
    known(b, QT_EVENTS_WARNINGS, e->warnings);
    if (e->errno_ >= 0 && e->errno_ <= INT32_MAX)
        qt_col_i32(at(b, QT_EVENTS_ERRNO), (int32_t)e->errno_);
    text(b, QT_EVENTS_ERROR, e->error);
    text(b, QT_EVENTS_CHECKSUM, e->checksum);
    qt_col_i64(&c[QT_EVENTS_FLAGS], e->flags);
    if (event_time != NULL)
        b->event_times[b->rows] = *event_time;
    b->rows++;
    uint64_t bytes = (e->statement.p != NULL ? e->statement.len : 0) + (e->params.p != NULL ? e->params.len : 0);
    b->bytes += bytes;
    b->largest = bytes > b->largest ? bytes : b->largest;
    return 0;
}

/* Returns a column's values, or NULL when out of memory. qt_columns_finish reports this error. */
static int64_t *values(const struct qt_event_batch *b, int column)
{
    const struct qt_column *c = &b->columns.col[column];
    return c->failed || c->rows != (int64_t)b->rows ? NULL : (int64_t *)(void *)c->data;
}

void qt_event_batch_take_times(struct qt_event_batch *b)
{
    qt_column_pad(&b->columns.col[QT_EVENTS_DURATION_NS], (int64_t)b->rows);
    int64_t *start = values(b, QT_EVENTS_START_NS), *duration = values(b, QT_EVENTS_DURATION_NS),
            *flags = values(b, QT_EVENTS_FLAGS);
    if (start == NULL || duration == NULL || flags == NULL)
        return;
    for (size_t i = 0; i < b->rows; i++) {
        const struct qt_event_time *m = &b->event_times[i];
        start[i] = m->start_ns;
        if (m->duration_ns >= 0)
            duration[i] = m->duration_ns;
        flags[i] = m->flags;
    }
}

void qt_event_batch_find_range(struct qt_event_batch *b, int64_t *first_ns, int64_t *last_ns)
{
    qt_column_pad(&b->columns.col[QT_EVENTS_DURATION_NS], (int64_t)b->rows);
    const int64_t *start = values(b, QT_EVENTS_START_NS), *duration = values(b, QT_EVENTS_DURATION_NS);
    *first_ns = INT64_MAX;
    *last_ns = INT64_MIN;
    for (size_t i = 0; start != NULL && duration != NULL && i < b->rows; i++) {
        int64_t end = start[i] + duration[i]; /* an unknown duration is stored as 0 */
        *first_ns = start[i] < *first_ns ? start[i] : *first_ns;
        *last_ns = end > *last_ns ? end : *last_ns;
    }
}

int qt_event_batch_finish(struct qt_event_batch *b, struct ArrowArray *out, struct qt_error *error)
{
    for (int32_t i = 0; i < QT_EVENTS_COLUMNS; i++)
        qt_column_pad_last(&b->columns.col[i], (int64_t)b->rows);
    const int64_t *keys[] = {values(b, QT_EVENTS_START_NS), values(b, QT_EVENTS_SESSION), values(b, QT_EVENTS_SEQ)};
    size_t rows = b->rows;
    b->rows = 0;
    b->bytes = 0;
    if (b->order_room < rows * 2) {
        free(b->order);
        b->order_room = rows * 2;
        b->order = malloc(b->order_room * sizeof *b->order);
        if (b->order == NULL) {
            b->order_room = 0;
            qt_columns_clear(&b->columns);
            return qt_fail(error, QT_ENOMEM, "out of memory for a batch");
        }
    }
    if (keys[0] != NULL && keys[1] != NULL && keys[2] != NULL && qt_order_rows(keys, 3, rows, b->order) != 0) {
        int code = qt_columns_permute(&b->columns, b->order);
        if (code != QT_OK) {
            qt_columns_clear(&b->columns);
            return qt_fail(error, code, "out of memory for a batch");
        }
    }
    return qt_columns_finish(&b->columns, out, error);
}
