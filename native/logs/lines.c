/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   files -> log.c -> lines without an array's brackets and commas -> batches: line VARCHAR, file, place BIGINT
 *
 * For formats whose rows something else parses (DuckDB: JSON). A batch is small in bytes, since who parses it makes
 * several copies of all of it.
 */
#include <string.h>

#include "base/error.h"
#include "base/stream.h"
#include "base/utf8.h"
#include "reader/log.h"

enum { MAX_ROWS = 2048, MAX_BYTES = 1 << 20 };

struct qt_lines {
    struct qt_log log;
    struct qt_columns columns;
    int64_t place; /* of the last line in its file, from 1 */
};

static const struct qt_column_spec specs[] = {{"line", 'u', 0}, {"file", 'l', 0}, {"place", 'l', 0}};
enum { N_SPECS = sizeof specs / sizeof *specs };

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }

/* `[ {...}` and `{...},` and `{...} ]`: the row alone. */
static struct qt_span without_array(struct qt_span s)
{
    int opened = 0;
    while (s.len > 0 && (is_blank(*s.p) || (*s.p == '[' && !opened))) {
        opened |= *s.p == '[';
        s.p++;
        s.len--;
    }
    while (s.len > 0 && (is_blank(s.p[s.len - 1]) || s.p[s.len - 1] == ',' || s.p[s.len - 1] == ']'))
        s.len--;
    return s;
}

static int next_batch(void *self, struct ArrowArray *out, struct qt_error *error)
{
    struct qt_lines *s = self;
    struct qt_column *c = s->columns.col;
    while (s->log.input != NULL && c[0].rows < MAX_ROWS && c[0].used < MAX_BYTES) {
        struct qt_span line;
        size_t used;
        int code = QT_OK, found = qt_log_line(&s->log, &line, &used, &code, error);
        if (found < 0)
            return code;
        if (s->log.reader.problems.total > 0) /* a damaged archive: rows are sorted when they are all there */
            return qt_fail(error, QT_EFORMAT, "%s", s->log.reader.problems.items[0].detail);
        if (found == 0) {
            if (qt_log_next_file(&s->log, error) < 0)
                return error != NULL ? error->code : QT_EIO;
            s->place = 0;
            continue;
        }
        s->place++;
        line = without_array(line);
        if (line.len > 0 && c[0].rows > 0 && (uint64_t)c[0].used + line.len > QT_LOG_MAX_BATCH) {
            s->place--; /* it begins the next batch */
            break;
        }
        if (line.len > 0) {
            qt_col_any_text(&c[0], line.p, line.len);
            qt_col_i64(&c[1], s->log.file);
            qt_col_i64(&c[2], s->place);
        }
        s->log.file_events++;
        qt_log_consume_line(&s->log, used);
    }
    return c[0].rows > 0 ? qt_columns_finish(&s->columns, out, error) : QT_OK;
}

static void close_lines(struct qt_reader *reader)
{
    struct qt_lines *s = (struct qt_lines *)reader;
    qt_columns_free(&s->columns);
    qt_log_close(&s->log);
}

static const struct qt_reader_kind kind = {NULL, NULL, close_lines, NULL};

struct qt_lines *qt_lines_open(const char *const *paths, int32_t n_paths, const struct qt_log_options *options,
                               struct qt_error *error)
{
    struct qt_lines *s = qt_log_open(sizeof *s, &kind, "lines", paths, n_paths, options, error);
    if (s != NULL && qt_columns_init(&s->columns, specs, N_SPECS) == QT_OK)
        return s;
    if (s != NULL) {
        qt_fail(error, QT_ENOMEM, "out of memory");
        qt_lines_close(s);
    }
    return NULL;
}

int qt_lines_stream(struct qt_lines *s, struct ArrowArrayStream *out, struct qt_error *error)
{
    struct qt_stream_source source = {specs, N_SPECS, next_batch, NULL, s};
    return qt_stream_make(out, &source, error);
}

void qt_lines_close(struct qt_lines *s)
{
    if (s != NULL)
        close_lines(&s->log.reader);
}
