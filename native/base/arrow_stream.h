/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an ArrowArrayStream from a function that returns the next batch. */
#ifndef QT_ARROW_STREAM_H
#define QT_ARROW_STREAM_H

#include "base/arrow_abi.h"
#include "base/arrow_build.h"
#include "base/error.h"

struct qt_stream_source {
    const struct qt_column_spec *specs; /* must outlive the stream */
    int32_t n_specs;
    /* Fills *out with the next batch. At the end of the stream the function leaves out->release NULL. The function is
     * not called again after the end or an error. */
    int (*next)(void *self, struct ArrowArray *out, struct qt_error *);
    void (*close)(void *self); /* called when the stream is released; may be NULL */
    void *self;
};

/* Only allocates the stream. Returns QT_ENOMEM when out of memory: `close` is then not called, and the caller keeps
 * `self`. */
int qt_stream_make(struct ArrowArrayStream *out, const struct qt_stream_source *, struct qt_error *);

/* Reads an incoming Arrow stream batch by batch. The formats are checked once: l int64, i int32, b bool, U text and Z
 * bytes with 64-bit offsets. The caller releases the stream. */

struct qt_rows {
    struct ArrowArrayStream *stream;
    struct ArrowArray batch;
    int64_t rows; /* rows of the current batch; 0 at the end */
    int64_t base; /* row offset of the batch's struct array */
    int32_t n;
};

/* Opens a stream. `formats` has one letter per column. If a column has another format, returns QT_EFORMAT with a
 * message that names the column. */
int qt_rows_open(struct qt_rows *, struct ArrowArrayStream *, const char *formats, struct qt_error *);
/* Releases the current batch and takes the next batch that has rows. */
int qt_rows_next(struct qt_rows *, struct qt_error *);
void qt_rows_close(struct qt_rows *);

static inline int64_t qt_read_at(const struct qt_rows *r, int column, int64_t row)
{
    return r->base + r->batch.children[column]->offset + row;
}

static inline int qt_read_null(const struct qt_rows *r, int column, int64_t row)
{
    const struct ArrowArray *c = r->batch.children[column];
    const uint8_t *bits = c->buffers[0];
    int64_t at = qt_read_at(r, column, row);
    return bits != NULL && c->null_count != 0 && !(bits[at / 8] >> (at % 8) & 1);
}

static inline int64_t qt_read_i64(const struct qt_rows *r, int column, int64_t row)
{
    return ((const int64_t *)r->batch.children[column]->buffers[1])[qt_read_at(r, column, row)];
}

static inline int32_t qt_read_i32(const struct qt_rows *r, int column, int64_t row)
{
    return ((const int32_t *)r->batch.children[column]->buffers[1])[qt_read_at(r, column, row)];
}

static inline int qt_read_bool(const struct qt_rows *r, int column, int64_t row)
{
    int64_t at = qt_read_at(r, column, row);
    return ((const uint8_t *)r->batch.children[column]->buffers[1])[at / 8] >> (at % 8) & 1;
}

/* Returns a pointer into the batch, or NULL for a NULL value. */
static inline const char *qt_read_bytes(const struct qt_rows *r, int column, int64_t row, size_t *len)
{
    const struct ArrowArray *c = r->batch.children[column];
    const int64_t *offsets = (const int64_t *)c->buffers[1] + qt_read_at(r, column, row);
    *len = 0;
    if (qt_read_null(r, column, row))
        return NULL;
    *len = (size_t)(offsets[1] - offsets[0]);
    return *len == 0 ? "" : (const char *)c->buffers[2] + offsets[0];
}

#endif
