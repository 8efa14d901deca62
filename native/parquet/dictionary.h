/* SPDX-License-Identifier: Apache-2.0 */
/* The different values of a column, numbered as they first come; and the number of each row's value. */
#ifndef QT_DICTIONARY_H
#define QT_DICTIONARY_H

#include "base/span.h"
#include "parquet/parquet_column.h"

struct qt_dictionary {
    uint32_t *slots; /* number + 1 of the value that hashes here; 0 = none */
    union {
        int64_t *numbers;
        struct qt_span *texts; /* they point into the column */
    };
    uint32_t *indices; /* of the rows that have a value, in their order */
    size_t room;       /* of `indices` */
    uint32_t n;        /* different values */
    size_t values;     /* rows that have one */
    size_t bytes;      /* of the different texts */
};

int qt_dictionary_new(struct qt_dictionary *); /* 0, or -1 when out of memory */
void qt_dictionary_free(struct qt_dictionary *);
/* Numbers the values of these rows. 1 = done, 0 = there are too many different ones, -1 = out of memory. The texts hold
 * as long as the column. */
int qt_dictionary_take(struct qt_dictionary *, const struct qt_parquet_column *, size_t first, size_t rows);

#endif
