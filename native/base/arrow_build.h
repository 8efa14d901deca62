/* SPDX-License-Identifier: Apache-2.0 */
/* Columns that grow row by row and become one Arrow batch.
 *
 *     static const struct qt_column_spec SPECS[] = {{"session", 'l', 0}, {"error", 'u', 1}};
 *     struct qt_columns cols;
 *     qt_columns_init(&cols, SPECS, 2);
 *     qt_col_i64(&cols.col[0], 7); qt_col_null(&cols.col[1]);      one append per column and row
 *     qt_columns_finish(&cols, &array, err);                       the batch owns the rows now, `cols` is empty again
 *     qt_columns_free(&cols);
 *
 * An append returns no error. The column remembers that memory ran out, or that it has more than 2 GB of text.
 * qt_columns_finish reports the error. This keeps an append as cheap as one store and one increment. Only one thread at
 * a time may use the columns. */
#ifndef QT_ARROW_BUILD_H
#define QT_ARROW_BUILD_H

#include <string.h>

#include "base/arrow_abi.h"
#include "base/buffer.h"
#include "base/error.h"

/* A column's name and type. Types use Arrow's letters: i int32, l int64, b bool, u UTF-8 (32-bit offsets), z bytes
 * (32-bit offsets). */
struct qt_column_spec {
    const char *name;
    char type;
    char nullable;
};

struct qt_column {
    char *data;       /* values; u and z: the bytes; b: one byte per row until the batch is finished */
    int32_t *offsets; /* u and z only: rows + 1 offsets */
    uint8_t *valid;   /* one byte per row; NULL until the column has its first NULL */
    int64_t rows, nulls;
    int64_t row_space;      /* allocated rows; u and z have one more offset */
    int64_t used, space;    /* bytes in `data`, only for u and z */
    int64_t row_hint, hint; /* row_space and space of the previous batch */
    struct qt_pool *pool;   /* pool of `data`, `offsets` and `valid` */
    char type;
    char failed;
};

struct qt_columns {
    struct qt_column *col;
    const struct qt_column_spec *specs; /* not copied; must outlive the columns */
    int32_t n;
    struct qt_pool *pool;
};

/* Allocates only `col` and the pool; the appends allocate the rest. Returns QT_ENOMEM when out of memory. */
int qt_columns_init(struct qt_columns *, const struct qt_column_spec *specs, int32_t n);
/* Moves all rows into `out`, an Arrow struct array. The next batch starts with as much space as this batch had.
 * Returns QT_ENOMEM, or QT_ESTATE if the columns have different lengths. On an error the rows are lost and `out` is
 * unchanged. */
int qt_columns_finish(struct qt_columns *, struct ArrowArray *out, struct qt_error *);
void qt_columns_clear(struct qt_columns *); /* drops the rows but keeps the memory */
void qt_columns_free(struct qt_columns *);
/* Returns the approximate memory of the current rows, in bytes. */
int64_t qt_columns_bytes(const struct qt_columns *);
static inline int64_t qt_columns_rows(const struct qt_columns *cols) { return cols->col[0].rows; }

/* Slow paths of the append functions below. They return 0 if the column has failed. */
int qt_column_grow(struct qt_column *);
int qt_column_grow_bytes(struct qt_column *, int64_t more);
int qt_column_first_null(struct qt_column *);

static inline int qt_column_room(struct qt_column *c) { return c->rows < c->row_space || qt_column_grow(c); }

static inline void qt_column_row_done(struct qt_column *c)
{
    if (c->valid != NULL)
        c->valid[c->rows] = 1;
    c->rows++;
}

static inline void qt_col_i64(struct qt_column *c, int64_t value)
{
    if (!qt_column_room(c))
        return;
    ((int64_t *)(void *)c->data)[c->rows] = value;
    qt_column_row_done(c);
}

static inline void qt_col_i32(struct qt_column *c, int32_t value)
{
    if (!qt_column_room(c))
        return;
    ((int32_t *)(void *)c->data)[c->rows] = value;
    qt_column_row_done(c);
}

static inline void qt_col_bool(struct qt_column *c, int value)
{
    if (!qt_column_room(c))
        return;
    c->data[c->rows] = value != 0;
    qt_column_row_done(c);
}

/* Appends bytes. For type u the caller guarantees valid UTF-8. */
static inline void qt_col_bytes(struct qt_column *c, const void *bytes, size_t len)
{
    if (!qt_column_room(c) || ((int64_t)len > c->space - c->used && !qt_column_grow_bytes(c, (int64_t)len)))
        return;
    if (len > 0)
        memcpy(c->data + c->used, bytes, len);
    c->used += (int64_t)len;
    c->offsets[c->rows + 1] = (int32_t)c->used;
    qt_column_row_done(c);
}

static inline void qt_col_text(struct qt_column *c, const char *text) { qt_col_bytes(c, text, strlen(text)); }

/* Appends a NULL to a column of any type. */
void qt_col_null(struct qt_column *);
/* Appends NULLs until the column has `rows` rows. */
void qt_column_pad(struct qt_column *, int64_t rows);
/* Like qt_column_pad, but only at the end of a batch: no row may be appended afterwards. A column without any row then
 * shares a buffer of zeros and costs no memory. */
void qt_column_pad_last(struct qt_column *, int64_t rows);

/* The Arrow schema of batches with the given columns. */
/* Needs no struct qt_columns. The caller releases `out`. Returns QT_ENOMEM when out of memory. */
int qt_columns_schema(const struct qt_column_spec *specs, int32_t n, struct ArrowSchema *out);

/* Functions for texts that may not be valid UTF-8. */

/* Returns the length of the well-formed UTF-8 sequence at p, or 0 if there is none (Unicode 15, table 3-7). `len` is
 * the number of available bytes and must be above 0. */
size_t qt_utf8_sequence(const unsigned char *p, size_t len);
/* Replaces each invalid UTF-8 byte of a NUL-terminated text with '?', in place. */
void qt_utf8_repair(char *text);
/* Appends a text that may not be valid UTF-8. Each invalid byte becomes U+FFFD. */
void qt_col_any_text(struct qt_column *, const char *text, size_t len);

#endif
