/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that columns become batches, and tests texts of unknown encoding in these columns. */
#include "base/arrow_build.h"
#include "base/arrow_stream.h"
#include "check.h"

static const struct qt_column_spec SPECS[] = {
    {"l", 'l', 1}, {"i", 'i', 0}, {"b", 'b', 1}, {"u", 'u', 1}, {"z", 'z', 0},
};
enum { N = 5 };

static void append(struct qt_columns *cols, int64_t i)
{
    char text[32];
    snprintf(text, sizeof text, "row %lld", (long long)i);
    if (i % 3 == 1)
        qt_col_null(&cols->col[0]);
    else
        qt_col_i64(&cols->col[0], i * 1000000007);
    qt_col_i32(&cols->col[1], (int32_t)-i);
    if (i % 7 == 6)
        qt_col_null(&cols->col[2]);
    else
        qt_col_bool(&cols->col[2], i % 2 == 1);
    if (i % 5 == 4)
        qt_col_null(&cols->col[3]);
    else
        qt_col_text(&cols->col[3], text);
    qt_col_bytes(&cols->col[4], "a\0b", (size_t)(i % 4));
}

/* Without a validity buffer, every row is valid. */
static int bit(const void *bits, int64_t i) { return bits == NULL || (((const uint8_t *)bits)[i / 8] >> (i % 8) & 1); }

static void check_row(const struct ArrowArray *batch, int64_t i)
{
    struct ArrowArray **c = batch->children;
    const int32_t *offsets = c[3]->buffers[1];
    char text[32];
    int len = snprintf(text, sizeof text, "row %lld", (long long)i);

    CHECK_INT(bit(c[0]->buffers[0], i), i % 3 != 1);
    if (i % 3 != 1)
        CHECK_INT(((const int64_t *)c[0]->buffers[1])[i], i * 1000000007);
    CHECK_INT(((const int32_t *)c[1]->buffers[1])[i], -i);
    CHECK_INT(bit(c[2]->buffers[0], i), i % 7 != 6);
    if (i % 7 != 6)
        CHECK_INT(bit(c[2]->buffers[1], i), i % 2 == 1);
    CHECK_INT(offsets[i + 1] - offsets[i], i % 5 == 4 ? 0 : len);
    if (i % 5 != 4)
        CHECK(memcmp((const char *)c[3]->buffers[2] + offsets[i], text, (size_t)len) == 0);
    offsets = c[4]->buffers[1];
    CHECK_INT(offsets[i + 1] - offsets[i], i % 4);
    CHECK(i % 4 == 0 || memcmp((const char *)c[4]->buffers[2] + offsets[i], "a\0b", (size_t)(i % 4)) == 0);
}

/* Values, NULLs and empty texts are preserved in successive batches of very different sizes. */
static void values_are_preserved_in_batches_of_any_size(void)
{
    static const int64_t SIZES[] = {1, 0, 1023, 1024, 1025, 20000, 3, 9};
    struct qt_columns cols;

    CHECK_INT(qt_columns_init(&cols, SPECS, N), QT_OK);
    for (size_t k = 0; k < sizeof SIZES / sizeof *SIZES; k++) {
        struct ArrowArray batch;
        for (int64_t i = 0; i < SIZES[k]; i++)
            append(&cols, i);
        CHECK_INT(qt_columns_finish(&cols, &batch, NULL), QT_OK);
        CHECK_INT(batch.length, SIZES[k]);
        CHECK_INT(batch.children[0]->null_count, (SIZES[k] + 1) / 3);
        CHECK(batch.children[1]->buffers[0] == NULL);
        for (int64_t i = 0; i < SIZES[k]; i++)
            check_row(&batch, i);
        batch.release(&batch);
        CHECK(batch.release == NULL);
    }
    qt_columns_free(&cols);
}

/* A reader may move a child out, release the parent and use the child afterwards. */
static void children_can_be_moved(void)
{
    struct qt_columns cols;
    struct ArrowArray batch, moved;
    struct ArrowSchema schema, field;

    CHECK_INT(qt_columns_init(&cols, SPECS, N), QT_OK);
    append(&cols, 2);
    CHECK_INT(qt_columns_finish(&cols, &batch, NULL), QT_OK);
    moved = *batch.children[0];
    batch.children[0]->release = NULL;
    batch.release(&batch);
    CHECK_INT(((const int64_t *)moved.buffers[1])[0], 2 * 1000000007LL);
    moved.release(&moved);
    CHECK_INT(qt_columns_schema(SPECS, N, &schema), QT_OK);
    field = *schema.children[3];
    schema.children[3]->release = NULL;
    schema.release(&schema);
    CHECK_TEXT(field.format, "u");
    CHECK_TEXT(field.name, "u");
    field.release(&field);
    qt_columns_free(&cols);
}

static void uneven_columns_are_an_error(void)
{
    struct qt_columns cols;
    struct ArrowArray batch;
    struct qt_error err;

    CHECK_INT(qt_columns_init(&cols, SPECS, N), QT_OK);
    append(&cols, 0);
    qt_col_i32(&cols.col[1], 1);
    CHECK_INT(qt_columns_finish(&cols, &batch, &err), QT_ESTATE);
    CHECK_TEXT(err.message, "column i has 2 rows, but the first column has 1");
    append(&cols, 0);
    CHECK_INT(qt_columns_finish(&cols, &batch, &err), QT_OK);
    batch.release(&batch);
    qt_columns_free(&cols);
}

struct counter {
    struct qt_columns cols;
    int left, closed;
};

static int next(void *self, struct ArrowArray *out, struct qt_error *err)
{
    struct counter *c = self;
    if (c->left < 0)
        return qt_fail(err, QT_EFORMAT, "expected more, found %d", c->left);
    if (c->left-- == 0)
        return QT_OK;
    append(&c->cols, 0);
    append(&c->cols, 1);
    return qt_columns_finish(&c->cols, out, err);
}

static void closed(void *self) { ((struct counter *)self)->closed++; }

/* A stream ends once, reports its error, and is closed once. A second release does nothing. */
static void stream_ends_once_and_reports_its_error(void)
{
    struct counter c = {.left = 3};
    struct qt_stream_source source = {SPECS, N, next, closed, &c};
    struct ArrowArrayStream stream;
    struct qt_error err;
    uint64_t rows;

    CHECK_INT(qt_columns_init(&c.cols, SPECS, N), QT_OK);
    CHECK_INT(qt_stream_make(&stream, &source, &err), QT_OK);
    CHECK_INT(qt_drain(&stream, &rows, &err), QT_OK);
    CHECK_INT(rows, 6);
    CHECK_INT(qt_drain(&stream, &rows, &err), QT_OK);
    CHECK_INT(rows, 0);
    qt_stream_release(&stream);
    qt_stream_release(&stream);
    CHECK_INT(c.closed, 1);
    c.left = -5;
    CHECK_INT(qt_stream_make(&stream, &source, &err), QT_OK);
    CHECK(qt_drain(&stream, &rows, &err) != QT_OK);
    CHECK_TEXT(err.message, "expected more, found -5");
    qt_stream_release(&stream);
    qt_columns_free(&c.cols);
}

/* Valid and invalid UTF-8, and conversion of texts of unknown encoding to UTF-8. */

static int sequence(const char *text, size_t len) { return (int)qt_utf8_sequence((const unsigned char *)text, len); }

/* Follows Unicode's table of well-formed sequences, with the values at its limits and just outside them. */
static void utf8_sequence_length_is_computed(void)
{
    CHECK_INT(sequence("a", 1), 1);
    CHECK_INT(sequence("\xc2\x80", 2), 2);
    CHECK_INT(sequence("\xe0\xa0\x80", 3), 3);
    CHECK_INT(sequence("\xf4\x8f\xbf\xbf", 4), 4);
    CHECK_INT(sequence("\xc1\xbf", 2), 0);
    CHECK_INT(sequence("\xe0\x9f\xbf", 3), 0);
    CHECK_INT(sequence("\xed\xa0\x80", 3), 0);
    CHECK_INT(sequence("\xf4\x90\x80\x80", 4), 0);
    CHECK_INT(sequence("\xc2", 1), 0);
    CHECK_INT(sequence("\x80", 1), 0);
}

/* Each invalid byte becomes one '?'. All other bytes stay, also at the end of the text. */
static void invalid_utf8_bytes_become_question_marks(void)
{
    char text[] = "a\xff\xc3\xa9 \xed\xa0\x80z\xe2\x82", empty[] = "";
    qt_utf8_repair(text);
    CHECK_TEXT(text, "a?\xc3\xa9 ???z??");
    qt_utf8_repair(empty);
    CHECK_TEXT(empty, "");
}

/* In a column, each invalid byte becomes U+FFFD. */
static void invalid_utf8_bytes_become_u_fffd_in_columns(void)
{
    static const struct qt_column_spec SPECS[] = {{"text", 'u', 0}};
    struct qt_columns cols;
    CHECK_INT(qt_columns_init(&cols, SPECS, 1), QT_OK);
    qt_col_any_text(&cols.col[0], "a\xff", 2);
    CHECK_INT(cols.col[0].used, 4);
    CHECK(memcmp(cols.col[0].data, "a\xef\xbf\xbd", 4) == 0);
    qt_columns_free(&cols);
}

int main(void)
{
    RUN(values_are_preserved_in_batches_of_any_size);
    RUN(children_can_be_moved);
    RUN(uneven_columns_are_an_error);
    RUN(stream_ends_once_and_reports_its_error);
    RUN(utf8_sequence_length_is_computed);
    RUN(invalid_utf8_bytes_become_question_marks);
    RUN(invalid_utf8_bytes_become_u_fffd_in_columns);
    return 0;
}
