/* SPDX-License-Identifier: Apache-2.0 */
/* One check of what a well-formed sequence is; two ways to replace what is none: U+FFFD into a column, '?' in place. */
#include "base/utf8.h"

#include <stdlib.h>

size_t qt_utf8_sequence(const unsigned char *p, size_t len)
{
    unsigned char a = p[0], low = 0x80, high = 0xBF;
    size_t n = a < 0x80 ? 1 : a >= 0xC2 && a <= 0xDF ? 2 : a >= 0xE0 && a <= 0xEF ? 3 : a >= 0xF0 && a <= 0xF4 ? 4 : 0;
    if (n == 0 || n > len)
        return 0;
    low = a == 0xE0 ? 0xA0 : a == 0xF0 ? 0x90 : low;
    high = a == 0xED ? 0x9F : a == 0xF4 ? 0x8F : high;
    for (size_t i = 1; i < n; i++, low = 0x80, high = 0xBF)
        if (p[i] < low || p[i] > high)
            return 0;
    return n;
}

void qt_col_any_text(struct qt_column *c, const char *text, size_t len)
{
    size_t at = 0, out = 0;
    while (at < len && (signed char)text[at] >= 0)
        at++;
    char *clean = at < len ? malloc(len * 3) : NULL;
    if (clean == NULL) { /* plain ASCII, as nearly all are; out of memory: what is ASCII of it */
        qt_col_bytes(c, text, at);
        return;
    }
    for (at = 0; at < len;) {
        size_t n = qt_utf8_sequence((const unsigned char *)text + at, len - at);
        memcpy(clean + out, n ? text + at : "\xEF\xBF\xBD", n ? n : 3);
        out += n ? n : 3;
        at += n ? n : 1;
    }
    qt_col_bytes(c, clean, out);
    free(clean);
}

void qt_utf8_repair(char *text)
{
    size_t left = strlen(text), n;
    for (; left > 0; text += n, left -= n) {
        n = qt_utf8_sequence((const unsigned char *)text, left);
        if (n == 0) {
            *text = '?';
            n = 1;
        }
    }
}
