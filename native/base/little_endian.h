/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as the protocol has them: lowest byte first, and length-encoded ("Protocol::LengthEncodedInteger" in MySQL's
 * protocol manual). The callers have checked that the bytes are there. */
#ifndef QT_LITTLE_ENDIAN_H
#define QT_LITTLE_ENDIAN_H

#include <stddef.h>
#include <stdint.h>

enum { QT_LENENC_ROOM = 9 }; /* bytes of a length-encoded number, at most */

static inline uint64_t qt_get_le(const void *from, int bytes)
{
    const uint8_t *p = from;
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)p[i] << (8 * i);
    return value;
}

/* The length in a packet's head. */
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

/* Writes up to QT_LENENC_ROOM bytes; returns how many. */
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

#endif
