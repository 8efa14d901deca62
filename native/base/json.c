/* SPDX-License-Identifier: Apache-2.0 */
/* The size of a member is checked before it is written. A member is therefore written completely or left out. */
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

/* Writes `, "key": `. Returns 0 if the key and `more` bytes do not fit before the closing brace. */
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

enum { KEY = 1, VALUE = 2, CLOSE = 4, COLON = 8, COMMA = 16, WORD = 32 };

void qt_json_scan_begin(struct qt_json_scan *s) { *s = (struct qt_json_scan){.may = VALUE}; }

static int is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' ||
           c == '.';
}

/* Handles one byte of a string. Returns -1 for a newline. */
static int string_byte(struct qt_json_scan *s, char c)
{
    if (s->escaped)
        s->escaped = 0;
    else if (c == '\\')
        s->escaped = 1;
    else if (c == '"')
        s->in_string = 0;
    return c == '\n' ? -1 : 0;
}

/* Handles one byte outside of strings. Returns 1 if it closes the object, -1 if it is not allowed at this place, else
 * 0. */
static int byte(struct qt_json_scan *s, char c)
{
    unsigned may = s->may;
    if (qt_json_is_blank(c)) {
        s->may &= ~(unsigned)WORD;
    } else if (c == '"' && may & (KEY | VALUE)) {
        s->in_string = 1;
        s->may = may & KEY ? COLON : COMMA | CLOSE;
    } else if ((c == '{' || c == '[') && may & VALUE && s->depth < QT_JSON_DEPTH) {
        s->inside[s->depth++] = c;
        s->may = CLOSE | (c == '{' ? KEY : VALUE);
    } else if ((c == '}' || c == ']') && may & CLOSE && s->inside[s->depth - 1] == (c == '}' ? '{' : '[')) {
        s->may = COMMA | CLOSE;
        return --s->depth == 0;
    } else if (c == ':' && may & COLON) {
        s->may = VALUE;
    } else if (c == ',' && may & COMMA) {
        s->may = s->inside[s->depth - 1] == '{' ? KEY : VALUE;
    } else if (is_word(c) && may & (VALUE | WORD)) {
        s->may = COMMA | CLOSE | WORD;
    } else {
        return -1;
    }
    return 0;
}

int qt_json_scan(struct qt_json_scan *s, const char *p, size_t n, size_t *used)
{
    int found = 0;
    size_t i = 0;
    while (i < n && found == 0) {
        found = s->in_string ? string_byte(s, p[i]) : byte(s, p[i]);
        i++;
    }
    *used = i;
    return found;
}
