/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of Parquet files, for the sanitizers; tests/native/bindings/test_part_writer.py reads what it writes. */
#include <unistd.h>

#include "base/stream.h"
#include "check.h"
#include "parquet/levels.h"
#include "querytape.h"

static const struct qt_column_spec SPECS[] = {
    {"start_ns", 'l', 0}, {"duration_ns", 'l', 1}, {"precision_ns", 'l', 0}, {"i", 'i', 1}, {"b", 'b', 1},
    {"u", 'u', 1},        {"z", 'z', 1},           {"none", 'u', 1},
};
enum { N = 8, ROWS = 130001, BATCHES = 2 };

struct rows {
    struct qt_columns columns;
    int given;
};

static void append(struct qt_columns *c, int64_t i)
{
    char text[64];
    int n = snprintf(text, sizeof text, "row %lld", (long long)(i % 3 == 0 ? i : i % 10));
    qt_col_i64(&c->col[0], 1000 + i);
    if (i % 4 == 0)
        qt_col_null(&c->col[1]);
    else
        qt_col_i64(&c->col[1], i == 77 ? 1000000 : 5);
    qt_col_i64(&c->col[2], i == 9 ? 1000 : 1);
    if (i / 100 % 2 == 0)
        qt_col_null(&c->col[3]);
    else
        qt_col_i32(&c->col[3], (int32_t)-i);
    if (i % 5 == 0)
        qt_col_null(&c->col[4]);
    else
        qt_col_bool(&c->col[4], i % 2 == 0);
    qt_col_bytes(&c->col[5], text, (size_t)n);
    if (i % 2 == 0)
        qt_col_null(&c->col[6]);
    else
        qt_col_bytes(&c->col[6], "", 0);
    qt_col_null(&c->col[7]);
}

static int next(void *self, struct ArrowArray *out, struct qt_error *error)
{
    struct rows *rows = self;
    if (rows->given++ == BATCHES)
        return QT_OK;
    for (int64_t i = 0; i < ROWS; i++)
        append(&rows->columns, i);
    return qt_columns_finish(&rows->columns, out, error);
}

static void test_a_file_of_every_type(void)
{
    struct rows rows = {.given = 0};
    CHECK_INT(qt_columns_init(&rows.columns, SPECS, N), QT_OK);
    struct qt_part_writer *writer = qt_part_writer_new();
    CHECK(writer != NULL);
    char path[] = "/tmp/qt_parquet_XXXXXX";
    int handle = mkstemp(path);
    CHECK(handle >= 0);
    for (int round = 0; round < 2; round++) {
        struct qt_stream_source source = {SPECS, N, next, NULL, &rows};
        struct ArrowArrayStream stream;
        struct qt_error error = {0};
        struct qt_part part;
        rows.given = 0;
        CHECK_INT(qt_stream_make(&stream, &source, &error), QT_OK);
        CHECK_INT(qt_part_write(writer, &stream, path, &part, &error), QT_OK);
        stream.release(&stream);
        CHECK_INT(part.rows, (int64_t)ROWS * BATCHES);
        CHECK_INT(part.known, 0x7f);
        CHECK_INT(part.first_ns, 1000);
        CHECK_INT(part.last_ns, 1000000 + 1077);
        CHECK_INT(part.precision_ns, 1000);
        char magic[4];
        CHECK_INT(pread(handle, magic, 4, lseek(handle, 0, SEEK_END) - 4), 4);
        CHECK(memcmp(magic, "PAR1", 4) == 0);
    }
    close(handle);
    unlink(path);
    qt_part_writer_free(writer);
    qt_columns_free(&rows.columns);
}

static void test_a_failing_file_is_closed(void)
{
    struct rows rows = {.given = 0};
    CHECK_INT(qt_columns_init(&rows.columns, SPECS, N), QT_OK);
    struct qt_part_writer *writer = qt_part_writer_new();
    struct qt_stream_source source = {SPECS, N, next, NULL, &rows};
    struct ArrowArrayStream stream;
    struct qt_error error = {0};
    struct qt_part part;
    CHECK_INT(qt_stream_make(&stream, &source, &error), QT_OK);
    CHECK_INT(qt_part_write(writer, &stream, "/dev/full", &part, &error), QT_EIO);
    CHECK(strstr(error.message, "No space left") != NULL);
    stream.release(&stream);
    qt_part_writer_free(writer);
    qt_columns_free(&rows.columns);
}

static void test_levels_of_any_bits(void)
{
    const uint8_t valid[] = {0xf0, 0x0f, 0xaa, 0x55};
    struct qt_bytes out = {0};
    CHECK_INT(qt_definition_levels_add(&out, valid, 4, 12, 8), 0);
    const uint8_t expected[] = {3, 0, 0, 0, 2 << 1 | 1, 0xff, 0x00};
    CHECK_INT(out.len, sizeof expected);
    CHECK(memcmp(out.p, expected, sizeof expected) == 0);
    out.len = 0;
    CHECK_INT(qt_definition_levels_add(&out, valid, 8, 16, 8), 0);
    CHECK(memcmp(out.p + 4, "\5\x0f\xaa", 3) == 0);
    qt_bytes_free(&out);
}

int main(void)
{
    RUN(test_a_file_of_every_type);
    RUN(test_a_failing_file_is_closed);
    RUN(test_levels_of_any_bits);
    return 0;
}
