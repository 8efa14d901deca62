/* SPDX-License-Identifier: Apache-2.0 */
/* files -> log.c -> JSON objects -> batches: line VARCHAR, file, place BIGINT
 *
 * Each object is output as one line. The input may spread an object over many lines or put many objects in one line,
 * with or without an array. An array may lack its end.
 *
 * Text that is not an object is output unchanged, so that the parser (DuckDB) rejects it. After a damaged object, the
 * next object may begin on a new line or after another object's end.
 *
 * Batches are small in bytes, because the parser makes several copies of each batch. */
#include <string.h>

#include "base/arrow_build.h"
#include "base/arrow_stream.h"
#include "base/error.h"
#include "base/json.h"
#include "reader/log.h"

enum { MAX_ROWS = 2048, MAX_BYTES = 1 << 20 };

struct qt_lines {
    struct qt_log log;
    struct qt_columns columns;
    int64_t place;       /* line number of the last output line in its file */
    uint64_t damaged_to; /* file offset of the end of the last damaged object; its problem is added once */
};

static const struct qt_column_spec specs[] = {{"line", 'u', 0}, {"file", 'l', 0}, {"place", 'l', 0}};
enum { N_SPECS = sizeof specs / sizeof *specs };

static int is_between(char c) { return qt_json_is_blank(c) || c == '[' || c == ']' || c == ','; }

/* Returns 1 if the byte buffer[begin + at] exists. Reads more input if needed. */
static int reach(struct qt_log *l, size_t at, int *code, struct qt_error *error)
{
    size_t have;
    while ((have = l->end - l->begin) <= at && !l->at_end && have < l->max_event)
        if ((*code = qt_log_fill(l, qt_log_more(l, have), error)) != QT_OK)
            return 0;
    return l->end - l->begin > at;
}

/* Returns 1 if an object begins at buffer[begin] and sets `len` to its length. Otherwise `len` is the length of the
 * text that could begin an object. */
static int find_object(struct qt_log *l, size_t *len, int *code, struct qt_error *error)
{
    struct qt_json_scan scan;
    int found = 0;
    qt_json_scan_begin(&scan);
    for (*len = 0; found == 0 && reach(l, *len, code, error);) {
        size_t used;
        found = qt_json_scan(&scan, l->buffer + l->begin + *len, l->end - l->begin - *len, &used);
        *len += used;
    }
    return found > 0;
}

/* Returns the length of the text at buffer[begin] that is not an object. The text ends at the end of the line, or at a
 * `{` that follows a `}`. */
static size_t length_of_other(struct qt_log *l, int *code, struct qt_error *error)
{
    size_t len = 0;
    for (char last = 0; reach(l, len, code, error); len++) {
        char c = l->buffer[l->begin + len];
        if (c == '\n' || (c == '{' && last == '}'))
            break;
        if (!is_between(c))
            last = c;
    }
    while (len > 0 && qt_json_is_blank(l->buffer[l->begin + len - 1]))
        len--;
    return len;
}

/* Finds the next object or other line at buffer[begin]. Returns 0 at the end of the file, or on error (`*code`). */
static int next_line(struct qt_lines *s, size_t *len, int *code, struct qt_error *error)
{
    struct qt_log *l = &s->log;
    while (reach(l, 0, code, error)) {
        char c = l->buffer[l->begin];
        int is_told = 0;
        if (is_between(c)) {
            qt_log_consume(l, 1);
            continue;
        }
        if (c == '{') {
            if (find_object(l, len, code, error))
                return 1;
            s->damaged_to = l->offset + *len;
        } else {
            is_told = l->offset < s->damaged_to;
        }
        if (*code == QT_OK)
            *len = length_of_other(l, code, error);
        if (*code != QT_OK || !is_told)
            return *code == QT_OK;
        qt_log_consume(l, *len);
    }
    return 0;
}

static int go_on_with_next_file(struct qt_lines *s, struct qt_error *error)
{
    struct qt_log *l = &s->log;
    s->damaged_to = 0;
    s->place = 0;
    return qt_log_next_file(l, error) < 0 ? error != NULL ? error->code : QT_EIO : QT_OK;
}

static int next_batch(void *self, struct ArrowArray *out, struct qt_error *error)
{
    struct qt_lines *s = self;
    struct qt_log *l = &s->log;
    struct qt_column *c = s->columns.col;
    while (l->input != NULL && c[0].rows < MAX_ROWS && c[0].used < MAX_BYTES) {
        size_t len;
        int code = QT_OK, found = next_line(s, &len, &code, error);
        if (code != QT_OK)
            return code;
        if (l->reader.problems.total > 0) /* damaged archive: stop, because rows are sorted only after all are read */
            return qt_fail(error, QT_EFORMAT, "%s", l->reader.problems.items[0].detail);
        if (!found) {
            if ((code = go_on_with_next_file(s, error)) != QT_OK)
                return code;
            continue;
        }
        if (c[0].rows > 0 && (uint64_t)c[0].used + len > QT_LOG_MAX_BATCH)
            break; /* the line goes to the next batch */
        int64_t line = (int64_t)qt_log_count_lines(l);
        s->place = line > s->place ? line : s->place + 1;
        qt_col_any_text(&c[0], l->buffer + l->begin, len);
        qt_col_i64(&c[1], l->file);
        qt_col_i64(&c[2], s->place);
        l->file_events++;
        qt_log_consume(l, len);
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
