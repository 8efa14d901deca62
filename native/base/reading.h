/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the fields of a packet in order: little-endian numbers, length-encoded numbers, strings. A read past the end
 * sets `bad` and returns 0 or an empty span. The caller can therefore check `bad` once, after the last read. */
#ifndef QT_READING_H
#define QT_READING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

struct qt_reading {
    const uint8_t *p, *end;
    int bad;
};

static inline struct qt_reading qt_reading(const void *p, size_t n)
{
    return (struct qt_reading){p, (const uint8_t *)p + n, 0};
}

static inline size_t qt_left(const struct qt_reading *r) { return (size_t)(r->end - r->p); }

static inline const uint8_t *qt_take(struct qt_reading *r, uint64_t n)
{
    if (r->bad || n > qt_left(r)) {
        r->bad = 1;
        return NULL;
    }
    const uint8_t *p = r->p;
    r->p += n;
    return p;
}

static inline uint64_t qt_take_int(struct qt_reading *r, int bytes)
{
    const uint8_t *p = qt_take(r, (uint64_t)bytes);
    return p != NULL ? qt_get_le(p, bytes) : 0;
}

/* Reads a length-encoded number. The first bytes 0xFB (NULL) and 0xFF are invalid and set `bad`. */
static inline uint64_t qt_take_lenenc(struct qt_reading *r)
{
    uint64_t first = qt_take_int(r, 1);
    switch (first) {
    case 0xFB:
    case 0xFF:
        r->bad = 1;
        return 0;
    case 0xFC:
        return qt_take_int(r, 2);
    case 0xFD:
        return qt_take_int(r, 3);
    case 0xFE:
        return qt_take_int(r, 8);
    default:
        return first;
    }
}

static inline struct qt_span qt_take_string(struct qt_reading *r) /* a length-encoded string */
{
    uint64_t n = qt_take_lenenc(r);
    const uint8_t *p = qt_take(r, n);
    return (struct qt_span){(const char *)p, p != NULL ? (size_t)n : 0};
}

static inline struct qt_span qt_take_nul(struct qt_reading *r) /* reads up to a NUL and skips the NUL */
{
    const uint8_t *nul = r->bad ? NULL : memchr(r->p, 0, qt_left(r));
    if (nul == NULL) {
        r->bad = 1;
        return (struct qt_span){NULL, 0};
    }
    struct qt_span s = {(const char *)r->p, (size_t)(nul - r->p)};
    r->p = nul + 1;
    return s;
}

static inline struct qt_span qt_take_rest(struct qt_reading *r)
{
    struct qt_span s = {r->bad ? NULL : (const char *)r->p, r->bad ? 0 : qt_left(r)};
    r->p = r->end;
    return s;
}

/* Values of the binary protocol, as in the parameters of COM_STMT_EXECUTE ("Binary Protocol Value" in MySQL's protocol
 * manual). */

/* Skips one value that is not NULL. `type` is a field type of the MySQL protocol. Sets `bad` if bytes are missing. */
void qt_skip_value(struct qt_reading *, unsigned type);

#endif
