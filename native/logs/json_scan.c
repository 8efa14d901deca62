/* SPDX-License-Identifier: Apache-2.0 */
#include "logs/json_scan.h"

enum { KEY = 1, VALUE = 2, CLOSE = 4, COLON = 8, COMMA = 16, WORD = 32 };

void qt_json_scan_begin(struct qt_json_scan *s) { *s = (struct qt_json_scan){.may = VALUE}; }

static int is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+' ||
           c == '.';
}

/* A byte of a string; -1 = a newline. */
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

/* A byte outside of strings: 1 = it closes the object, -1 = it must not come here. */
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
