/* SPDX-License-Identifier: Apache-2.0 */
/* The ids are set by statements of the same text: nothing else can come between one of them and its INSERT, and the
 * text stays one command. */
#include "engine/insert_ids.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ROOM_OF_ONE 48 /* SET insert_id=18446744073709551615; */

size_t qt_insert_ids_room(const char *ids, size_t ids_len)
{
    size_t n = ids_len > 0;
    for (size_t i = 0; i < ids_len; i++)
        n += ids[i] == ',';
    return n * ROOM_OF_ONE;
}

/* Digits, then `end` or the text's end. 0 = there are none, or too many. */
static int take_number(const char **p, const char *all_end, char end, uint64_t *value)
{
    const char *from = *p;
    *value = 0;
    for (; *p < all_end && **p >= '0' && **p <= '9'; (*p)++)
        *value = *value * 10 + (uint64_t)(**p - '0');
    if (*p == from || *p - from > 20)
        return 0;
    if (*p == all_end)
        return end == ',';
    return *(*p)++ == end;
}

/* SET is that of SET STATEMENT ... FOR INSERT. */
static int is_insert(const char *sql, size_t len)
{
    return (len > 4 && strncasecmp(sql, "set", 3) == 0) || (len > 6 && strncasecmp(sql, "insert", 6) == 0) ||
           (len > 7 && strncasecmp(sql, "replace", 7) == 0);
}

size_t qt_insert_ids_copy(char *to, const char *sql, size_t len, const char *ids, size_t ids_len)
{
    const char *end = ids ? ids + ids_len : ids; /* NULL: there are none */
    size_t n = 0, done = 0;
    while (ids < end) {
        uint64_t at, id;
        if (!take_number(&ids, end, ':', &at) || !take_number(&ids, end, ',', &id) || at < done || at > len ||
            !is_insert(sql + at, len - at)) {
            memcpy(to, sql, len);
            return len;
        }
        memcpy(to + n, sql + done, at - done);
        n += at - done;
        n += (size_t)snprintf(to + n, ROOM_OF_ONE, "SET insert_id=%" PRIu64 ";", id);
        done = at;
    }
    memcpy(to + n, sql + done, len - done);
    return n + len - done;
}
