/* SPDX-License-Identifier: Apache-2.0 */
/* Thrift's compact protocol, as far as Parquet's headers need it: fields of structs in the order of their numbers.
 *
 *     struct qt_thrift t = {.out = &bytes};
 *     qt_thrift_i64(&t, 3, rows);          field 3
 *     qt_thrift_open(&t, 5);               field 5 is a struct, whose fields come now
 *     qt_thrift_close(&t);
 *     qt_thrift_end(&t);                   the outermost struct
 *
 * Running out of memory is remembered in `failed`. */
#ifndef QT_THRIFT_H
#define QT_THRIFT_H

#include "base/bytes.h"

enum { QT_THRIFT_DEPTH = 8 };
enum qt_thrift_type { QT_THRIFT_I32 = 5, QT_THRIFT_I64 = 6, QT_THRIFT_BINARY = 8, QT_THRIFT_STRUCT = 12 };

struct qt_thrift {
    struct qt_bytes *out;
    int last[QT_THRIFT_DEPTH]; /* the number of the last field, a struct each */
    int depth;
    int failed;
};

void qt_thrift_i32(struct qt_thrift *, int field, int32_t value);
void qt_thrift_i64(struct qt_thrift *, int field, int64_t value);
void qt_thrift_text(struct qt_thrift *, int field, const void *bytes, size_t len);
void qt_thrift_open(struct qt_thrift *, int field);
void qt_thrift_close(struct qt_thrift *);
/* A list of `n`; its items follow: qt_thrift_item_* or, for structs, their fields between qt_thrift_item and _close. */
void qt_thrift_list(struct qt_thrift *, int field, enum qt_thrift_type, size_t n);
void qt_thrift_item(struct qt_thrift *);
void qt_thrift_item_i32(struct qt_thrift *, int32_t value);
void qt_thrift_item_text(struct qt_thrift *, const char *text);
void qt_thrift_end(struct qt_thrift *);

/* An unsigned number in groups of 7 bits, lowest first. 0, or -1 when out of memory. */
int qt_put_varint(struct qt_bytes *, uint64_t value);

#endif
