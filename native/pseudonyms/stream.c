/* SPDX-License-Identifier: Apache-2.0 */
/* stream in -> batch -> each cell: copied, and changed in place according to its column -> batch -> stream out
 *
 * Kinds of columns: l = a number that stays, s = statement, p = parameters, m = message, t = text. A stream keeps a
 * buffer of the size of its largest cell. The code runs in the thread that pulls the stream. */
#include <stdlib.h>
#include <string.h>

#include "base/arrow_stream.h"
#include "base/error.h"
#include "pseudonyms/message.h"
#include "pseudonyms/params.h"
#include "pseudonyms/sql.h"
#include "pseudonyms/value.h"

enum { MAX_COLUMNS = 8 };

struct replaced {
    struct qt_pseudonyms *pseudonyms;
    struct ArrowArrayStream *in;
    struct qt_rows rows;
    struct qt_columns columns;
    struct qt_column_spec specs[MAX_COLUMNS];
    char what[MAX_COLUMNS + 1], formats[MAX_COLUMNS + 1];
    int opened;
    char *work; /* value being changed */
    size_t room;
};

static int change(struct replaced *r, char what, char *p, size_t n)
{
    switch (what) {
    case 's':
        return qt_pseudonyms_statement(r->pseudonyms, p, n);
    case 'm':
        return qt_pseudonyms_message(r->pseudonyms, p, n);
    case 't':
        return qt_pseudonyms_value(r->pseudonyms, p, n);
    default:
        if (qt_pseudonyms_params(r->pseudonyms, p, n) != 0) { /* invalid format: all bytes are cleared */
            memset(p, 0, n);
            *p = 'R';
        }
        return 0;
    }
}

static int cell(struct replaced *r, int column, int64_t row)
{
    struct qt_column *to = &r->columns.col[column];
    size_t n;
    const char *p;
    if (qt_read_null(&r->rows, column, row)) {
        qt_col_null(to);
        return 0;
    }
    if (r->what[column] == 'l') {
        qt_col_i64(to, qt_read_i64(&r->rows, column, row));
        return 0;
    }
    p = qt_read_bytes(&r->rows, column, row, &n);
    if (n > r->room) {
        free(r->work);
        r->room = n * 2;
        r->work = malloc(r->room);
        if (r->work == NULL) {
            r->room = 0;
            return -1;
        }
    }
    if (n > 0) {
        memcpy(r->work, p, n);
        if (change(r, r->what[column], r->work, n) != 0)
            return -1;
    }
    qt_col_bytes(to, n > 0 ? r->work : "", n);
    return 0;
}

static int next(void *self, struct ArrowArray *out, struct qt_error *err)
{
    struct replaced *r = self;
    int code = r->opened ? QT_OK : qt_rows_open(&r->rows, r->in, r->formats, err);
    r->opened = 1;
    if (code == QT_OK)
        code = qt_rows_next(&r->rows, err);
    if (code != QT_OK || r->rows.rows == 0)
        return code;
    for (int64_t row = 0; row < r->rows.rows; row++)
        for (int column = 0; column < r->columns.n; column++)
            if (cell(r, column, row) != 0)
                return qt_fail(err, QT_ENOMEM, "out of memory for a pseudonym");
    return qt_columns_finish(&r->columns, out, err);
}

static void close_stream(void *self)
{
    struct replaced *r = self;
    qt_rows_close(&r->rows);
    qt_columns_free(&r->columns);
    free(r->work);
    free(r);
}

int qt_pseudonyms_stream(struct qt_pseudonyms *s, struct ArrowArrayStream *in, const char *what,
                         struct ArrowArrayStream *out, struct qt_error *err)
{
    static const char *const NAMES[MAX_COLUMNS] = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
    size_t n = strlen(what);
    struct replaced *r = calloc(1, sizeof *r);
    if (r == NULL)
        return qt_fail(err, QT_ENOMEM, "out of memory");
    if (n == 0 || n > MAX_COLUMNS || strspn(what, "lspmt") != n) {
        free(r);
        return qt_fail(err, QT_EINVALID, "expected 1 to %d columns of the kinds l, s, p, m and t, found \"%s\"",
                       MAX_COLUMNS, what);
    }
    r->pseudonyms = s;
    r->in = in;
    for (size_t i = 0; i < n; i++) {
        int text = what[i] == 'm' || what[i] == 't';
        r->what[i] = what[i];
        r->formats[i] = what[i] == 'l' ? 'l' : text ? 'U' : 'Z';
        r->specs[i] = (struct qt_column_spec){NAMES[i], what[i] == 'l' ? 'l' : text ? 'u' : 'z', 1};
    }
    struct qt_stream_source source = {r->specs, (int32_t)n, next, close_stream, r};
    int code = qt_columns_init(&r->columns, r->specs, (int32_t)n);
    if (code == QT_OK)
        code = qt_stream_make(out, &source, err);
    if (code != QT_OK) {
        qt_columns_free(&r->columns);
        free(r);
    }
    return code;
}
