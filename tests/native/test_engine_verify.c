/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums of results. */
#include "base/bytes.h"
#include "check.h"
#include "engine/verify.h"
#include "replay_run.h"

/* Equal rows have the same checksum, as defined in base/checksum.h. Statements without rows have no checksum. */
static void equal_rows_have_equal_checksums(void)
{
    struct qt_checksum want = {0};
    char text[QT_CHECKSUM_ROOM];
    struct replay r;

    qt_checksum_result(&want, 1);
    qt_checksum_row(&want, "\3one", 4);
    qt_checksum_row(&want, "\3two", 4);
    qt_checksum_text(&want, "text", text);
    replay_init(&r);
    r.options.verify = 1;
    replay_session(&r, 1, -5, 2, NULL);
    replay_event(&r, 1, 1, 1, "SELECT 1");
    replay_event(&r, 1, 2, 2, "a");
    replay_run(&r);
    CHECK_TEXT(replay_find(&r, 1, 1)->checksum, text);
    CHECK_TEXT(replay_find(&r, 1, 2)->checksum, "");
    replay_free(&r);
}

static const struct {
    enum enum_field_types type;
    int size; /* -1 = length-encoded, -2 = one byte of length */
} TYPES[] = {
    {MYSQL_TYPE_NULL, 0},        {MYSQL_TYPE_TINY, 1},    {MYSQL_TYPE_SHORT, 2},       {MYSQL_TYPE_YEAR, 2},
    {MYSQL_TYPE_INT24, 4},       {MYSQL_TYPE_LONG, 4},    {MYSQL_TYPE_FLOAT, 4},       {MYSQL_TYPE_LONGLONG, 8},
    {MYSQL_TYPE_DOUBLE, 8},      {MYSQL_TYPE_DATE, -2},   {MYSQL_TYPE_TIME, -2},       {MYSQL_TYPE_DATETIME, -2},
    {MYSQL_TYPE_TIMESTAMP, -2},  {MYSQL_TYPE_STRING, -1}, {MYSQL_TYPE_VAR_STRING, -1}, {MYSQL_TYPE_BLOB, -1},
    {MYSQL_TYPE_NEWDECIMAL, -1}, {MYSQL_TYPE_BIT, -1},    {MYSQL_TYPE_JSON, -1},       {MYSQL_TYPE_GEOMETRY, -1},
};

/* Computes the length of binary rows with any columns, NULLs and texts of any length. Truncated rows are rejected. */
static void length_of_binary_rows_is_computed(void)
{
    enum { MOST = 20 };
    static const size_t lengths[] = {0, 1, 250, 251, 255, 256, 65535, 65536, 70000};
    unsigned char *row = malloc(MOST * 70010);
    MYSQL_FIELD fields[MOST];

    srand(1);
    for (int turn = 0; turn < 2000; turn++) {
        unsigned columns = (unsigned)(rand() % MOST);
        size_t at = 1 + (columns + 9) / 8;
        memset(row, 0, at);
        for (unsigned i = 0; i < columns; i++) {
            size_t pick = (size_t)rand() % (sizeof TYPES / sizeof *TYPES);
            fields[i].type = TYPES[pick].type;
            if (rand() % 4 == 0) {
                row[1 + (i + 2) / 8] |= (unsigned char)(1 << (i + 2) % 8);
                continue;
            }
            size_t n = TYPES[pick].size == -1 ? lengths[(size_t)rand() % (turn % 50 ? 6 : 9)] : (size_t)rand() % 13;
            if (TYPES[pick].size >= 0)
                n = (size_t)TYPES[pick].size;
            else
                at += qt_put_lenenc(row + at, n);
            memset(row + at, rand() % 256, n);
            at += n;
        }
        CHECK_INT(qt_binary_row_length(row, at, fields, columns), at);
        CHECK_INT(qt_binary_row_length(row, at + 9, fields, columns), at);
        for (size_t room = 0; room < at; room += 1 + at / 40)
            CHECK_INT(qt_binary_row_length(row, room, fields, columns), 0);
    }
    free(row);
}

int main(void)
{
    RUN(equal_rows_have_equal_checksums);
    RUN(length_of_binary_rows_is_computed);
    return 0;
}
