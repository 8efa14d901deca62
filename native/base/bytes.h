/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that grow. The owner of the struct frees them with qt_bytes_free. */
#ifndef QT_BYTES_H
#define QT_BYTES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/little_endian.h"

struct qt_bytes {
    char *p;
    size_t len, room;
};

/* Room for `n` more. 0, or -1 when out of memory. */
static inline int qt_bytes_reserve(struct qt_bytes *b, size_t n)
{
    if (n <= b->room - b->len)
        return 0;
    size_t room = b->room > 0 ? b->room : 256;
    while (room - b->len < n)
        room *= 2;
    char *p = realloc(b->p, room);
    if (p == NULL)
        return -1;
    b->p = p;
    b->room = room;
    return 0;
}

/* 0, or -1 when out of memory: then nothing was added. */
static inline int qt_bytes_add(struct qt_bytes *b, const void *more, size_t n)
{
    if (qt_bytes_reserve(b, n) != 0)
        return -1;
    if (n > 0)
        memcpy(b->p + b->len, more, n);
    b->len += n;
    return 0;
}

static inline int qt_bytes_add_int(struct qt_bytes *b, uint64_t value, int bytes) /* little-endian */
{
    uint8_t out[8];
    qt_put_le(out, value, bytes);
    return qt_bytes_add(b, out, (size_t)bytes);
}

static inline int qt_bytes_add_lenenc(struct qt_bytes *b, uint64_t value)
{
    uint8_t out[QT_LENENC_ROOM];
    return qt_bytes_add(b, out, qt_put_lenenc(out, value));
}

static inline void qt_bytes_free(struct qt_bytes *b)
{
    free(b->p);
    b->p = NULL;
    b->len = b->room = 0;
}

/* Gives memory back that one large use left behind. */
static inline void qt_bytes_clear(struct qt_bytes *b, size_t keep)
{
    b->len = 0;
    if (b->room > keep)
        qt_bytes_free(b);
}

#endif
