/* SPDX-License-Identifier: Apache-2.0 */
/* Reading record batches that DuckDB gives (arrow_large_buffer_size = true). Private to the native part. */
#ifndef QT_ARROW_READ_H
#define QT_ARROW_READ_H

#include "arrow_build.h"
#include "error.h"

/* QT_EINVALID unless the stream has just these columns, in order, with these formats ("l", "i", "b", "U", "Z"). */
int qt_read_schema(struct ArrowArrayStream *, const struct qt_column_spec *, size_t n, struct qt_error *);

static inline int qt_read_valid(const struct ArrowArray *column, int64_t row)
{
    const uint8_t *bits = column->buffers[0];
    row += column->offset;
    return bits == NULL || (bits[row / 8] >> (row % 8) & 1);
}

static inline int64_t qt_read_i64(const struct ArrowArray *column, int64_t row)
{
    return ((const int64_t *)column->buffers[1])[row + column->offset];
}

static inline int32_t qt_read_i32(const struct ArrowArray *column, int64_t row)
{
    return ((const int32_t *)column->buffers[1])[row + column->offset];
}

static inline int qt_read_bool(const struct ArrowArray *column, int64_t row)
{
    row += column->offset;
    return ((const uint8_t *)column->buffers[1])[row / 8] >> (row % 8) & 1;
}

/* NULL for a NULL; valid until the batch is released. */
static inline const char *qt_read_bytes(const struct ArrowArray *column, int64_t row, size_t *len)
{
    *len = 0;
    if (!qt_read_valid(column, row))
        return NULL;
    const int64_t *offsets = (const int64_t *)column->buffers[1] + column->offset + row;
    *len = (size_t)(offsets[1] - offsets[0]);
    return *len > 0 ? (const char *)column->buffers[2] + offsets[0] : "";
}

#endif
