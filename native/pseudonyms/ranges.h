/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which bytes of a statement are values, in one way in which a session may read it: sql_mode and character set
 * decide where its literals end, the server's version which comments it executes. */
#ifndef QT_PSEUDONYMS_RANGES_H
#define QT_PSEUDONYMS_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "sql/keywords.h"

/* Bytes that are one value: a text or number (radix 10), or digits of radix 16 or 2. */
struct qt_range {
    uint32_t at, len;
    uint8_t radix;
};

struct qt_ranges {
    struct qt_range *range; /* owned here */
    size_t n, room;
    int sound, ends;           /* no backslash is outside of quotes; no literal lacks its end */
    uint8_t saw, saw_comments; /* as in struct qt_lexer */
};

/* How a session reads: as in struct qt_lexer. */
struct qt_way {
    uint8_t reading, charset, comments;
};

/* Makes `r` the values of a statement, in order. 0, or -1 when out of memory. */
int qt_ranges_find(struct qt_ranges *r, const struct qt_keywords *, const char *p, size_t n, struct qt_way);
void qt_ranges_free(struct qt_ranges *);

#endif
