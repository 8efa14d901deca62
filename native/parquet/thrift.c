/* SPDX-License-Identifier: Apache-2.0 */
/* https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md */
#include "parquet/thrift.h"

int qt_put_varint(struct qt_bytes *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; value > 0x7f; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    return qt_bytes_add(out, bytes, n);
}

static void add(struct qt_thrift *t, const void *bytes, size_t n)
{
    if (qt_bytes_add(t->out, bytes, n) != 0)
        t->failed = 1;
}

static void varint(struct qt_thrift *t, uint64_t value)
{
    if (qt_put_varint(t->out, value) != 0)
        t->failed = 1;
}

static void zigzag(struct qt_thrift *t, int64_t value) { varint(t, (uint64_t)value << 1 ^ (uint64_t)(value >> 63)); }

/* Numbers grow by less than 16 in every struct of Parquet. */
static void field_head(struct qt_thrift *t, int field, int type)
{
    uint8_t head = (uint8_t)((field - t->last[t->depth]) << 4 | type);
    t->last[t->depth] = field;
    add(t, &head, 1);
}

void qt_thrift_i32(struct qt_thrift *t, int field, int32_t value)
{
    field_head(t, field, QT_THRIFT_I32);
    zigzag(t, value);
}

void qt_thrift_i64(struct qt_thrift *t, int field, int64_t value)
{
    field_head(t, field, QT_THRIFT_I64);
    zigzag(t, value);
}

void qt_thrift_text(struct qt_thrift *t, int field, const void *bytes, size_t len)
{
    field_head(t, field, QT_THRIFT_BINARY);
    varint(t, len);
    add(t, bytes, len);
}

static void enter(struct qt_thrift *t)
{
    if (t->depth + 1 < QT_THRIFT_DEPTH)
        t->last[++t->depth] = 0;
    else
        t->failed = 1;
}

void qt_thrift_open(struct qt_thrift *t, int field)
{
    field_head(t, field, QT_THRIFT_STRUCT);
    enter(t);
}

void qt_thrift_end(struct qt_thrift *t) { add(t, "", 1); }

void qt_thrift_close(struct qt_thrift *t)
{
    qt_thrift_end(t);
    t->depth -= t->depth > 0;
}

void qt_thrift_list(struct qt_thrift *t, int field, enum qt_thrift_type type, size_t n)
{
    field_head(t, field, 9);
    uint8_t head = (uint8_t)((n < 15 ? n : 15) << 4 | (size_t)type);
    add(t, &head, 1);
    if (n >= 15)
        varint(t, n);
}

void qt_thrift_item(struct qt_thrift *t) { enter(t); }

void qt_thrift_item_i32(struct qt_thrift *t, int32_t value) { zigzag(t, value); }

void qt_thrift_item_text(struct qt_thrift *t, const char *text)
{
    varint(t, strlen(text));
    add(t, text, strlen(text));
}
