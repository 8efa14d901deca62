/* SPDX-License-Identifier: Apache-2.0 */
/* A column of an Arrow batch as the writer reads it. */
#ifndef QT_PARQUET_COLUMN_H
#define QT_PARQUET_COLUMN_H

#include <stddef.h>
#include <stdint.h>

#include "base/arrow_abi.h"
#include "base/span.h"

struct qt_parquet_column {
    char type;            /* Arrow's letter: i, l, b, u or z */
    const uint8_t *valid; /* a bit a row; NULL = all have a value */
    const void *values;   /* of b: bits */
    const int32_t *offsets;
    const char *bytes;
    size_t start; /* the row of the buffers that is the first one of the batch */
};

static inline struct qt_parquet_column qt_parquet_column_of(const struct ArrowArray *array, char type)
{
    struct qt_parquet_column c = {.type = type, .start = (size_t)array->offset};
    c.valid = array->null_count == 0 ? NULL : array->buffers[0];
    if (type == 'u' || type == 'z') {
        c.offsets = array->buffers[1];
        c.bytes = array->buffers[2] != NULL ? array->buffers[2] : ""; /* of no text at all */
    } else {
        c.values = array->buffers[1];
    }
    return c;
}

static inline int qt_parquet_valid(const struct qt_parquet_column *c, size_t row)
{
    return c->valid == NULL || (c->valid[(c->start + row) / 8] >> (c->start + row) % 8 & 1);
}

static inline int64_t qt_parquet_number(const struct qt_parquet_column *c, size_t row)
{
    size_t at = c->start + row;
    if (c->type == 'l')
        return ((const int64_t *)c->values)[at];
    if (c->type == 'i')
        return ((const int32_t *)c->values)[at];
    return ((const uint8_t *)c->values)[at / 8] >> at % 8 & 1;
}

static inline struct qt_span qt_parquet_text(const struct qt_parquet_column *c, size_t row)
{
    const int32_t *at = c->offsets + c->start + row;
    return (struct qt_span){c->bytes + at[0], (size_t)(at[1] - at[0])};
}

#endif
