/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for bytes: borrowed spans, numbers of the MySQL protocol, and a growing buffer. */
#ifndef QT_BYTES_H
#define QT_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A range of bytes that the span does not own. */
struct qt_span {
    const char *p; /* NULL = absent */
    size_t len;
};

/* Numbers of the MySQL protocol: little-endian, or length-encoded ("Protocol::LengthEncodedInteger" in MySQL's protocol
 * manual). The caller has already checked that enough bytes are available. */
enum { QT_LENENC_ROOM = 9 }; /* maximum bytes of a length-encoded number */

static inline uint64_t qt_get_le(const void *from, int bytes)
{
    const uint8_t *p = from;
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)p[i] << (8 * i);
    return value;
}

/* Reads the 3-byte payload length of a packet header. */
static inline size_t qt_get_le24(const void *from)
{
    const uint8_t *p = from;
    return (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16;
}

static inline void qt_put_le(void *to, uint64_t value, int bytes)
{
    uint8_t *p = to;
    for (int i = 0; i < bytes; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

/* Writes up to QT_LENENC_ROOM bytes. Returns the number of bytes written. */
static inline size_t qt_put_lenenc(void *to, uint64_t value)
{
    uint8_t *p = to;
    int bytes = value < 0xFB ? 1 : value <= 0xFFFF ? 2 : value <= 0xFFFFFF ? 3 : 8;
    size_t at = 0;
    if (bytes > 1)
        p[at++] = bytes == 2 ? 0xFC : bytes == 3 ? 0xFD : 0xFE;
    qt_put_le(p + at, value, bytes);
    return at + (size_t)bytes;
}

/* A growing byte buffer. The owner of the struct frees it with qt_bytes_free. */
struct qt_bytes {
    char *p;
    size_t len, room;
};

/* Makes room for `n` more bytes. Returns 0, or -1 when out of memory. */
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

/* Returns 0, or -1 when out of memory. On an error nothing is added. */
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

/* Empties the buffer. Frees its memory if it is larger than `keep` bytes. */
static inline void qt_bytes_clear(struct qt_bytes *b, size_t keep)
{
    b->len = 0;
    if (b->room > keep)
        qt_bytes_free(b);
}

#endif
