/* SPDX-License-Identifier: Apache-2.0 */
/* Members are measured before they are written, so a member is there as a whole or not at all. */
#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void qt_json_begin(struct qt_json *j, char *out, size_t room)
{
    *j = (struct qt_json){.out = out, .room = room, .len = 1};
    out[0] = '{';
}

size_t qt_json_escape(char *to, unsigned char c) { return (size_t)sprintf(to, "\\u%04x", c); }

/* Writes `, "key": `; 0 where it and `more` bytes do not fit in front of the last brace. */
static int write_key(struct qt_json *j, const char *key, size_t more)
{
    size_t need = strlen(key) + 6 + more;
    if (need + 2 > j->room - j->len)
        return 0;
    j->len += (size_t)sprintf(j->out + j->len, "%s\"%s\": ", j->members++ > 0 ? ", " : "", key);
    return 1;
}

void qt_json_text(struct qt_json *j, const char *key, const char *p, size_t len)
{
    if (!write_key(j, key, p == NULL ? 4 : len * 6 + 2))
        return;
    char *at = j->out + j->len;
    if (p == NULL) {
        j->len += (size_t)sprintf(at, "null");
        return;
    }
    *at++ = '"';
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c >= 0x7f || qt_json_must_escape(c))
            at += qt_json_escape(at, c);
        else
            *at++ = (char)c;
    }
    *at++ = '"';
    j->len = (size_t)(at - j->out);
}

void qt_json_int(struct qt_json *j, const char *key, int64_t value)
{
    if (write_key(j, key, 21))
        j->len += (size_t)sprintf(j->out + j->len, "%" PRId64, value);
}

void qt_json_end(struct qt_json *j)
{
    j->out[j->len++] = '}';
    j->out[j->len] = 0;
}
