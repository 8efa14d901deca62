/* SPDX-License-Identifier: Apache-2.0 */
/* A column of one row group: its pages, written one after the other, and what the file's footer says of them. */
#ifndef QT_CHUNK_H
#define QT_CHUNK_H

#include <stdio.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "parquet/dictionary.h"

/* Where pages go, and what is used again for each of them. */
struct qt_page_writer {
    FILE *file;
    int64_t at; /* bytes written so far */
    struct qt_bytes page, packed, head;
    struct qt_dictionary dictionary;
    ZSTD_CCtx *zstd;
};

struct qt_chunk {
    int64_t dictionary_at, data_at; /* places in the file; dictionary_at -1 = there is none */
    int64_t raw_bytes, bytes;       /* of all pages with their heads: unpacked, as written */
    int64_t rows, nulls;
    int zstd;                   /* else the pages are not packed */
    int has_range;              /* of the values: */
    int64_t low, high;          /* of numbers */
    struct qt_span least, most; /* of texts; they point into the column */
};

int qt_page_writer_new(struct qt_page_writer *); /* 0, or -1 when out of memory */
void qt_page_writer_free(struct qt_page_writer *);
int qt_page_writer_put(struct qt_page_writer *, const void *bytes, size_t n, struct qt_error *);
/* Writes these rows of a column. */
int qt_chunk_write(struct qt_page_writer *, const struct qt_parquet_column *, size_t first, size_t rows,
                   struct qt_chunk *out, struct qt_error *);

#endif
