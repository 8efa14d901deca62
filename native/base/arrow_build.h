/* SPDX-License-Identifier: Apache-2.0 */
/* Columns that grow row by row and become one Arrow batch.
 *
 *     static const struct qt_column_spec SPECS[] = {{"session", 'l', 0}, {"error", 'u', 1}};
 *     struct qt_columns cols;
 *     qt_columns_init(&cols, SPECS, 2);
 *     qt_col_i64(&cols.col[0], 7); qt_col_null(&cols.col[1]);      one append a column for each row
 *     qt_columns_finish(&cols, &array, err);                       the batch owns the rows now, `cols` is empty again
 *     qt_columns_free(&cols);
 *
 * An append never fails by itself: running out of memory, or more than 2 GB of text in one column, is remembered and
 * reported by qt_columns_finish. So the appends stay a store and a bump. One thread at a time.
 */
#ifndef QT_ARROW_BUILD_H
#define QT_ARROW_BUILD_H

#include <string.h>

#include "base/arrow_abi.h"
#include "base/buffer.h"
#include "base/error.h"

/* Types are Arrow's own letters: i int32, l int64, b bool, u UTF-8 (32-bit offsets), z bytes (32-bit offsets). */
struct qt_column_spec {
    const char *name;
    char type;
    char nullable;
};

struct qt_column {
    char *data;       /* values; for u and z the bytes; for b one byte a row, packed to bits at the end */
    int32_t *offsets; /* u and z: rows + 1 of them */
    uint8_t *valid;   /* one byte a row; NULL until the first NULL comes */
    int64_t rows, nulls;
    int64_t row_space;      /* rows that fit; for u and z one less than there are offsets */
    int64_t used, space;    /* bytes in `data`, u and z only */
    int64_t row_hint, hint; /* row_space and space of the batch before */
    struct qt_pool *pool;   /* of `data`, `offsets` and `valid` */
    char type;
    char failed;
};

struct qt_columns {
    struct qt_column *col;
    const struct qt_column_spec *specs; /* not copied: must outlive the columns */
    int32_t n;
    struct qt_pool *pool;
};

/* Nothing but `col` is allocated before the first append. QT_ENOMEM. */
int qt_columns_init(struct qt_columns *, const struct qt_column_spec *specs, int32_t n);
/* Moves all rows into `out`, a struct array; a later batch starts with as much space as this one had.
 * QT_ENOMEM or, where columns are of unequal length, QT_ESTATE; the rows are then lost and `out` is not touched. */
int qt_columns_finish(struct qt_columns *, struct ArrowArray *out, struct qt_error *);
void qt_columns_clear(struct qt_columns *); /* drops the rows, keeps the memory */
void qt_columns_free(struct qt_columns *);
/* Memory of the rows so far, about. */
int64_t qt_columns_bytes(const struct qt_columns *);
static inline int64_t qt_columns_rows(const struct qt_columns *cols) { return cols->col[0].rows; }

/* The slow ways of the appends below; 0 where the column has failed. */
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

/* For u the caller promises valid UTF-8. */
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

/* For any type. */
void qt_col_null(struct qt_column *);
/* NULLs up to `rows` rows. */
void qt_column_pad(struct qt_column *, int64_t rows);
/* The same at the end of a batch: nothing may be appended any more. A column of which nothing was known costs
 * nothing. */
void qt_column_pad_last(struct qt_column *, int64_t rows);

/* The Arrow schema of batches with given columns. */
/* Independent of any columns; `out` is the caller's, to be released. QT_ENOMEM. */
int qt_columns_schema(const struct qt_column_spec *specs, int32_t n, struct ArrowSchema *out);

/* Texts of unknown origin into UTF-8 columns. */

/* Length of the well-formed sequence at p, of which `len` > 0 bytes are there; 0 where there is none (Unicode 15,
 * table 3-7). */
size_t qt_utf8_sequence(const unsigned char *p, size_t len);
/* In place: each byte of a NUL-terminated text that is not UTF-8 becomes '?'. */
void qt_utf8_repair(char *text);
/* Appends a text that may not be UTF-8: bad bytes become U+FFFD. */
void qt_col_any_text(struct qt_column *, const char *text, size_t len);

#endif
