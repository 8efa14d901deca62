/* SPDX-License-Identifier: Apache-2.0 */
/* A Parquet file of an Arrow stream: row groups of its batches, and the footer.
 *
 *     struct qt_parquet *p = qt_parquet_new();
 *     qt_parquet_begin(p, path, &schema, &error);     the columns: i, l, b, u and z
 *     qt_parquet_add(p, &batch, &error);              any number of times
 *     qt_parquet_end(p, &error);                      the footer; the file is closed
 *     qt_parquet_free(p);                             or begin again: memory is used again
 *
 * Where one fails, the file is not whole; begin and free close it. */
#ifndef QT_PARQUET_FILE_H
#define QT_PARQUET_FILE_H

#include "base/arrow_abi.h"
#include "base/error.h"

struct qt_parquet;

struct qt_parquet *qt_parquet_new(void); /* NULL when out of memory */
void qt_parquet_free(struct qt_parquet *);
int qt_parquet_begin(struct qt_parquet *, const char *path, const struct ArrowSchema *, struct qt_error *);
int qt_parquet_add(struct qt_parquet *, const struct ArrowArray *, struct qt_error *);
int qt_parquet_end(struct qt_parquet *, struct qt_error *);

#endif
