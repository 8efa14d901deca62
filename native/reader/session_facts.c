/* SPDX-License-Identifier: Apache-2.0 */
/* parser: qt_session_facts_add -> columns -> qt_session_facts_take: rows for another thread. A session may have several
 * rows. */
#include "reader/session_facts.h"

#include <string.h>

#include "base/arrow_build.h"
#include "base/arrow_stream.h"

enum column {
    SESSION,
    THREAD_ID,
    USER,
    HOST,
    DB,
    PORT,
    CLIENT_FLAGS,
    CHARSET,
    ATTRIBUTES,
    OPEN_AT_START,
    OPEN_AT_END,
    ENCRYPTED,
    N_COLUMNS
};

static const struct qt_column_spec columns[N_COLUMNS] = {
    [SESSION] = {"session", 'l', 0},
    [THREAD_ID] = {"thread_id", 'l', 1},
    [USER] = {"user", 'u', 1},
    [HOST] = {"host", 'u', 1},
    [DB] = {"db", 'u', 1},
    [PORT] = {"port", 'i', 1},
    [CLIENT_FLAGS] = {"client_flags", 'l', 1},
    [CHARSET] = {"charset", 'u', 1},
    [ATTRIBUTES] = {"attributes", 'u', 1},
    [OPEN_AT_START] = {"open_at_start", 'b', 1},
    [OPEN_AT_END] = {"open_at_end", 'b', 1},
    [ENCRYPTED] = {"encrypted", 'b', 1},
};

int qt_session_facts_init(struct qt_session_facts *f)
{
    memset(f, 0, sizeof *f);
    if (qt_columns_init(&f->columns, columns, N_COLUMNS) != QT_OK)
        return -1;
    if (pthread_mutex_init(&f->lock, NULL) != 0) {
        qt_columns_free(&f->columns);
        return -1;
    }
    f->ready = 1;
    return 0;
}

void qt_session_facts_free(struct qt_session_facts *f)
{
    if (!f->ready)
        return;
    qt_columns_free(&f->columns);
    pthread_mutex_destroy(&f->lock);
    f->ready = 0;
}

static void text(struct qt_column *c, struct qt_span span)
{
    if (span.p == NULL)
        qt_col_null(c);
    else
        qt_col_any_text(c, span.p, span.len);
}

static void number(struct qt_column *c, int64_t value)
{
    if (value < 0)
        qt_col_null(c);
    else if (c->type == 'l')
        qt_col_i64(c, value);
    else if (c->type == 'i')
        qt_col_i32(c, (int32_t)value);
    else
        qt_col_bool(c, (int)value);
}

void qt_session_facts_add(struct qt_session_facts *f, const struct qt_session_fact *fact)
{
    pthread_mutex_lock(&f->lock);
    struct qt_column *c = f->columns.col;
    qt_col_i64(&c[SESSION], fact->session);
    number(&c[THREAD_ID], fact->thread_id);
    text(&c[USER], fact->user);
    text(&c[HOST], fact->host);
    text(&c[DB], fact->db);
    number(&c[PORT], fact->port);
    number(&c[CLIENT_FLAGS], fact->client_flags);
    text(&c[CHARSET], fact->charset);
    text(&c[ATTRIBUTES], fact->attributes);
    number(&c[OPEN_AT_START], fact->open_at_start);
    number(&c[OPEN_AT_END], fact->open_at_end);
    number(&c[ENCRYPTED], fact->encrypted);
    pthread_mutex_unlock(&f->lock);
}

static int next_batch(void *owner, struct ArrowArray *out, struct qt_error *error)
{
    struct qt_session_facts *f = owner;
    int code = QT_OK;
    pthread_mutex_lock(&f->lock);
    if (qt_columns_rows(&f->columns) > 0)
        code = qt_columns_finish(&f->columns, out, error);
    pthread_mutex_unlock(&f->lock);
    return code;
}

int qt_session_facts_take(struct qt_session_facts *f, struct ArrowArrayStream *out, struct qt_error *error)
{
    struct qt_stream_source source = {columns, N_COLUMNS, next_batch, NULL, f};
    return qt_stream_make(out, &source, error);
}
