/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   a source's rows -> one column each -> times assigned -> order by start, session, seq -> one Arrow batch
 *
 * The columns and their order are those of schemas/tape.sql.
 */
#include "reader/event_rows.h"

#include "base/sort_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum column {
    SESSION,
    SEQ,
    THREAD_ID,
    COMMAND,
    START_NS,
    DURATION_NS,
    PRECISION_NS,
    REQUEST_NS,
    FIRST_BYTE_NS,
    USER,
    HOST,
    DB,
    STATEMENT,
    STMT,
    PARAMS,
    INSERT_ID,
    INSERT_IDS,
    LAST_INSERT_ID,
    FILE_,
    OFFSET,
    DIGEST,
    CLASS,
    ACTIONS,
    ROWS_SENT,
    ROWS_EXAMINED,
    ROWS_AFFECTED,
    BYTES_SENT,
    LOCK_NS,
    WARNINGS,
    ERRNO,
    ERROR,
    CHECKSUM,
    FLAGS,
    N_COLUMNS
};

const struct qt_column_spec qt_event_columns[N_COLUMNS] = {
    [SESSION] = {"session", 'l', 1},
    [SEQ] = {"seq", 'l', 1},
    [THREAD_ID] = {"thread_id", 'l', 1},
    [COMMAND] = {"command", 'u', 1},
    [START_NS] = {"start_ns", 'l', 1},
    [DURATION_NS] = {"duration_ns", 'l', 1},
    [PRECISION_NS] = {"precision_ns", 'l', 1},
    [REQUEST_NS] = {"request_ns", 'l', 1},
    [FIRST_BYTE_NS] = {"first_byte_ns", 'l', 1},
    [USER] = {"user", 'u', 1},
    [HOST] = {"host", 'u', 1},
    [DB] = {"db", 'u', 1},
    [STATEMENT] = {"statement", 'z', 1},
    [STMT] = {"stmt", 'l', 1},
    [PARAMS] = {"params", 'z', 1},
    [INSERT_ID] = {"insert_id", 'l', 1},
    [INSERT_IDS] = {"insert_ids", 'u', 1},
    [LAST_INSERT_ID] = {"last_insert_id", 'l', 1},
    [FILE_] = {"file", 'i', 1},
    [OFFSET] = {"offset", 'l', 1},
    [DIGEST] = {"digest", 'u', 1},
    [CLASS] = {"class", 'u', 1},
    [ACTIONS] = {"actions", 'l', 1},
    [ROWS_SENT] = {"rows_sent", 'l', 1},
    [ROWS_EXAMINED] = {"rows_examined", 'l', 1},
    [ROWS_AFFECTED] = {"rows_affected", 'l', 1},
    [BYTES_SENT] = {"bytes_sent", 'l', 1},
    [LOCK_NS] = {"lock_ns", 'l', 1},
    [WARNINGS] = {"warnings", 'l', 1},
    [ERRNO] = {"errno", 'i', 1},
    [ERROR] = {"error", 'u', 1},
    [CHECKSUM] = {"checksum", 'u', 1},
    [FLAGS] = {"flags", 'l', 1},
};
const int32_t qt_event_n_columns = N_COLUMNS;

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
    return qt_columns_init(&b->columns, qt_event_columns, N_COLUMNS) == QT_OK ? 0 : -1;
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

/* An unknown value is left out: qt_column_pad makes the NULLs, many at once, before the next known one or at the
 * end. */
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
    qt_col_bytes(at(b, DIGEST), digest, 16);
    qt_col_text(at(b, CLASS), class_names[what->klass]);
    qt_col_i64(at(b, ACTIONS), what->actions);
}

int qt_event_batch_add(struct qt_event_batch *b, const struct qt_event_row *e, const struct qt_event_time *event_time)
{
    struct qt_column *c = b->columns.col;
    if (event_time != NULL && room_for_event_time(b) != 0)
        return -1;
    qt_col_i64(&c[SESSION], e->session);
    qt_col_i64(&c[SEQ], e->seq);
    known(b, THREAD_ID, e->thread_id);
    qt_col_text(&c[COMMAND], e->command);
    qt_col_i64(&c[START_NS], event_time != NULL ? 0 : e->start_ns);
    known(b, DURATION_NS, event_time != NULL ? event_time->duration_ns : e->duration_ns);
    qt_col_i64(&c[PRECISION_NS], e->precision_ns);
    known(b, REQUEST_NS, e->request_ns);
    known(b, FIRST_BYTE_NS, e->first_byte_ns);
    text(b, USER, e->user);
    text(b, HOST, e->host);
    text(b, DB, e->db);
    bytes(b, STATEMENT, e->statement);
    known(b, STMT, e->stmt);
    bytes(b, PARAMS, e->params);
    known(b, INSERT_ID, e->insert_id);
    text(b, INSERT_IDS, e->insert_ids);
    known(b, LAST_INSERT_ID, e->last_insert_id);
    qt_col_i32(&c[FILE_], (int32_t)e->file);
    qt_col_i64(&c[OFFSET], e->offset);
    digest_class_actions(b, e->what);
    known(b, ROWS_SENT, e->rows_sent);
    known(b, ROWS_EXAMINED, e->rows_examined);
    known(b, ROWS_AFFECTED, e->rows_affected);
    known(b, BYTES_SENT, e->bytes_sent);
    known(b, LOCK_NS, e->lock_ns);
    known(b, WARNINGS, e->warnings);
    if (e->errno_ >= 0 && e->errno_ <= INT32_MAX)
        qt_col_i32(at(b, ERRNO), (int32_t)e->errno_);
    text(b, ERROR, e->error);
    text(b, CHECKSUM, e->checksum);
    qt_col_i64(&c[FLAGS], e->flags);
    if (event_time != NULL)
        b->event_times[b->rows] = *event_time;
    b->rows++;
    uint64_t bytes = (e->statement.p != NULL ? e->statement.len : 0) + (e->params.p != NULL ? e->params.len : 0);
    b->bytes += bytes;
    b->largest = bytes > b->largest ? bytes : b->largest;
    return 0;
}

/* A column's values; NULL when out of memory, which qt_columns_finish reports. */
static int64_t *values(const struct qt_event_batch *b, int column)
{
    const struct qt_column *c = &b->columns.col[column];
    return c->failed || c->rows != (int64_t)b->rows ? NULL : (int64_t *)(void *)c->data;
}

void qt_event_batch_take_times(struct qt_event_batch *b)
{
    qt_column_pad(&b->columns.col[DURATION_NS], (int64_t)b->rows);
    int64_t *start = values(b, START_NS), *duration = values(b, DURATION_NS), *flags = values(b, FLAGS);
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
    qt_column_pad(&b->columns.col[DURATION_NS], (int64_t)b->rows);
    const int64_t *start = values(b, START_NS), *duration = values(b, DURATION_NS);
    *first_ns = INT64_MAX;
    *last_ns = INT64_MIN;
    for (size_t i = 0; start != NULL && duration != NULL && i < b->rows; i++) {
        int64_t end = start[i] + duration[i]; /* an unknown duration is a zero under its NULL */
        *first_ns = start[i] < *first_ns ? start[i] : *first_ns;
        *last_ns = end > *last_ns ? end : *last_ns;
    }
}

int qt_event_batch_finish(struct qt_event_batch *b, struct ArrowArray *out, struct qt_error *error)
{
    for (int32_t i = 0; i < N_COLUMNS; i++)
        qt_column_pad_last(&b->columns.col[i], (int64_t)b->rows);
    const int64_t *keys[] = {values(b, START_NS), values(b, SESSION), values(b, SEQ)};
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
