/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of bytes in SQL. */
#ifndef QT_CHARS_H
#define QT_CHARS_H

#include <stddef.h>
#include <stdint.h>

#define QT_C_IDENT 1 /* may be inside an identifier */
#define QT_C_DIGIT 2
#define QT_C_SPACE 4
extern const uint8_t qt_char_class[256];

/* Character sets of clients. In gbk, big5 and sjis (gb18030 as gbk, cp932 as sjis) a backslash or a back quote may be
 * the second byte of a character; in all others every byte of a character is above 127, or there is one only. Some
 * of these have a white space above 127: 0xA0 in latin1 and its like, 0xFF in cp866 and its like. */
enum qt_charset { QT_NARROW, QT_GBK, QT_BIG5, QT_SJIS, QT_BLANK_A0, QT_BLANK_FF, QT_CHARSETS };

static inline int qt_is_wide(int charset) { return charset >= QT_GBK && charset <= QT_SJIS; }

/* The white space above 127; -1 = there is none. */
static inline int qt_high_blank(int charset)
{
    return charset == QT_BLANK_A0 ? 0xA0 : charset == QT_BLANK_FF ? 0xFF : -1;
}

/* 2 where the bytes at p are a character of two bytes, else 1. */
static inline size_t qt_wide(int charset, const char *p, const char *end)
{
    unsigned a = (unsigned char)*p, b = end - p > 1 ? (unsigned char)p[1] : 0;
    int low = b >= 0x40 && b <= 0x7e;
    switch (charset) {
    case QT_GBK:
        return a >= 0x81 && a <= 0xfe && (low || (b >= 0x80 && b <= 0xfe)) ? 2 : 1;
    case QT_BIG5:
        return a >= 0xa1 && a <= 0xf9 && (low || (b >= 0xa1 && b <= 0xfe)) ? 2 : 1;
    case QT_SJIS:
        return ((a >= 0x81 && a <= 0x9f) || (a >= 0xe0 && a <= 0xfc)) && (low || (b >= 0x80 && b <= 0xfc)) ? 2 : 1;
    default:
        return 1;
    }
}

static inline char qt_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c; }

#endif
