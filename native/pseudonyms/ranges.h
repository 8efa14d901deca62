/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the bytes of a statement that are values, in one possible reading. sql_mode and charset decide where literals
 * end. The server version decides which comments are executed. */
#ifndef QT_PSEUDONYMS_RANGES_H
#define QT_PSEUDONYMS_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "sql/keywords.h"

/* The bytes of one value: a string or number (radix 10), or digits of radix 16 or 2. */
struct qt_range {
    uint32_t at, len;
    uint8_t radix;
};

struct qt_ranges {
    struct qt_range *range; /* owned */
    size_t n, room;
    int sound, ends;           /* sound: no backslash outside quotes. ends: all literals close */
    uint8_t saw, saw_comments; /* as in struct qt_lexer */
};

/* One reading of a statement. The fields are as in struct qt_lexer. */
struct qt_way {
    uint8_t reading, charset, comments;
};

/* Stores the values of a statement in `r`, in order. Returns 0, or -1 when out of memory. */
int qt_ranges_find(struct qt_ranges *r, const struct qt_keywords *, const char *p, size_t n, struct qt_way);
void qt_ranges_free(struct qt_ranges *);

#endif
