/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the ends of words and literals, several bytes at a time where it can. Only for lexer.c. */
#ifndef QT_SCAN_H
#define QT_SCAN_H

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "sql/chars.h"

#define IS(c, what) (qt_char_class[(unsigned char)(c)] & (what))

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS UINT64_C(0x8080808080808080)

/* Not 0 where one of the eight bytes is c. */
static inline uint64_t has_byte(uint64_t eight, char c)
{
    uint64_t x = eight ^ (ONES * (unsigned char)c);
    return (x - ONES) & ~x & HIGHS;
}

/* The next quote or backslash. */
static inline const char *find_special(const char *p, const char *end, char quote)
{
    while (end - p >= 8) {
        uint64_t eight;
        memcpy(&eight, p, 8);
        if (has_byte(eight, quote) | has_byte(eight, '\\'))
            break;
        p += 8;
    }
    while (p < end && *p != quote && *p != '\\')
        p++;
    return p;
}

static inline const char *skip_class(const char *p, const char *end, int class)
{
    while (p < end && IS(*p, class))
        p++;
    return p;
}

#ifdef __SSE2__
/* One bit for each of 16 bytes that may be inside an identifier: a word's end is found without a guess at each byte. */
static inline unsigned ident_bits(const char *p)
{
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i letter = _mm_sub_epi8(_mm_or_si128(x, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
    __m128i digit = _mm_sub_epi8(x, _mm_set1_epi8('0'));
    __m128i in = _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(25)), letter);
    in = _mm_or_si128(in, _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit));
    in = _mm_or_si128(in, _mm_cmpeq_epi8(x, _mm_set1_epi8('_')));
    in = _mm_or_si128(in, _mm_cmpeq_epi8(x, _mm_set1_epi8('$')));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(in, x)); /* x: bytes above 127 */
}
#endif

/* Behind the last byte of an identifier. `high` is set where one of its bytes is above 127. */
static inline const char *skip_ident(const char *p, const char *end, unsigned *high)
{
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        unsigned highs = (unsigned)_mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(const void *)p));
        unsigned out = ident_bits(p) ^ 0xffffu;
        if (out != 0) {
            *high |= highs & ((out & -out) - 1);
            return p + __builtin_ctz(out);
        }
        *high |= highs;
    }
#endif
    for (; p < end && IS(*p, QT_C_IDENT); p++)
        *high |= (unsigned char)*p & 0x80u;
    return p;
}

#endif
