/* SPDX-License-Identifier: Apache-2.0 */
/* Columns that grow row by row and become one Arrow record batch. Private to the native part. */
#ifndef QT_ARROW_BUILD_H
#define QT_ARROW_BUILD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "arrow_abi.h"

/* format: "l" int64, "i" int32, "b" boolean, "u" UTF-8 text, "z" bytes; all nullable. */
struct qt_column_spec {
    const char *name;
    const char *format;
};

struct qt_column {
    char format;
    uint8_t *valid;    /* one byte a row until the batch is finished; NULL while no row was NULL */
    void *values;      /* int64_t, int32_t or one byte a boolean; int32_t offsets (rows + 1) for texts */
    char *bytes;       /* texts */
    size_t n_bytes, bytes_room;
    size_t bytes_hint; /* what the last batch needed */
};

struct qt_columns {
    const struct qt_column_spec *specs;
    struct qt_column *columns;
    size_t n_columns, rows, room;
    size_t hint;       /* rows of the last batch: the next one begins with room for as many */
};

/* 0, or -1 when out of memory. `specs` must live as long as the columns. */
int qt_columns_init(struct qt_columns *, const struct qt_column_spec *specs, size_t n);
void qt_columns_free(struct qt_columns *);
/* Room for one more row in every column; 0, or -1. Then set each column once and call qt_columns_row. */
int qt_columns_room(struct qt_columns *);
static inline void qt_columns_row(struct qt_columns *c)
{
    c->rows++;
}
/* Moves all rows into `out` (whose release frees them) and leaves the columns empty, ready for more; 0, or -1. */
int qt_columns_finish(struct qt_columns *, struct ArrowArray *out);
/* The batch's schema, a struct of the specs; 0, or -1. */
int qt_columns_schema(const struct qt_column_spec *specs, size_t n, struct ArrowSchema *out);

int qt_col_make_valid(struct qt_columns *, size_t column);
int qt_col_more_bytes(struct qt_column *, size_t len);

static inline void qt_col_i64(struct qt_columns *c, size_t column, int64_t value)
{
    struct qt_column *col = &c->columns[column];
    ((int64_t *)col->values)[c->rows] = value;
    if (col->valid != NULL)
        col->valid[c->rows] = 1;
}

static inline void qt_col_i32(struct qt_columns *c, size_t column, int32_t value)
{
    struct qt_column *col = &c->columns[column];
    ((int32_t *)col->values)[c->rows] = value;
    if (col->valid != NULL)
        col->valid[c->rows] = 1;
}

static inline void qt_col_bool(struct qt_columns *c, size_t column, int value)
{
    struct qt_column *col = &c->columns[column];
    ((uint8_t *)col->values)[c->rows] = value != 0;
    if (col->valid != NULL)
        col->valid[c->rows] = 1;
}

/* 0, or -1 when out of memory or past 2 GiB of one column in one batch. */
static inline int qt_col_bytes(struct qt_columns *c, size_t column, const void *bytes, size_t len)
{
    struct qt_column *col = &c->columns[column];
    if (col->bytes_room - col->n_bytes < len && qt_col_more_bytes(col, len) != 0)
        return -1;
    if (len > 0)
        memcpy(col->bytes + col->n_bytes, bytes, len);
    col->n_bytes += len;
    ((int32_t *)col->values)[c->rows + 1] = (int32_t)col->n_bytes;
    if (col->valid != NULL)
        col->valid[c->rows] = 1;
    return 0;
}

static inline int qt_col_null(struct qt_columns *c, size_t column)
{
    struct qt_column *col = &c->columns[column];
    if (col->valid == NULL && qt_col_make_valid(c, column) != 0)
        return -1;
    col->valid[c->rows] = 0;
    switch (col->format) {
    case 'u':
    case 'z':
        ((int32_t *)col->values)[c->rows + 1] = (int32_t)col->n_bytes;
        break;
    case 'l':
        ((int64_t *)col->values)[c->rows] = 0;
        break;
    case 'i':
        ((int32_t *)col->values)[c->rows] = 0;
        break;
    default:
        ((uint8_t *)col->values)[c->rows] = 0;
    }
    return 0;
}

/* Texts that may not be UTF-8: bad bytes become U+FFFD. 0, or -1. */
int qt_col_text(struct qt_columns *, size_t column, const char *text, size_t len);

#endif
