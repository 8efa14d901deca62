/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one bound parameter of an execution as an SQL literal: 5, 1.5, 'a', '2026-11-22'. */
#include "grammar/bound_values.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/reading.h"

enum { MAX_PARAMETERS = 65535 };

static int add_text(struct qt_bytes *to, const char *text, int len)
{
    return len > 0 && qt_bytes_add(to, text, (size_t)len) == 0 ? 1 : -1;
}

static int integer(const uint8_t *p, int size, int is_unsigned, struct qt_bytes *to)
{
    char text[32];
    uint64_t value = qt_get_le(p, size);
    int negative = !is_unsigned && value >> (8 * size - 1) & 1;
    if (negative)
        value = size == 8 ? -value : (UINT64_C(1) << (8 * size)) - value;
    return add_text(to, text, snprintf(text, sizeof text, "%s%" PRIu64, negative ? "-" : "", value));
}

static int real(const uint8_t *p, int size, struct qt_bytes *to)
{
    char text[64];
    float f = 0;
    double d = 0;
    if (size == 4)
        memcpy(&f, p, 4);
    else
        memcpy(&d, p, 8);
    return add_text(to, text, snprintf(text, sizeof text, size == 4 ? "%.9g" : "%.17g", size == 4 ? (double)f : d));
}

/* Field sizes in bytes. DATE, DATETIME and TIMESTAMP: year 2, month 1, day 1 [hour, minute, second [microseconds 4]].
 * TIME: sign 1, days 4, hour, ... */
static int date_or_time(const uint8_t *p, size_t n, int is_time, struct qt_bytes *to)
{
    char text[80];
    size_t at = is_time ? 5 : 4;
    int len = snprintf(text, sizeof text, "'");
    if (n != 0 && n < at)
        return 0;
    if (!is_time)
        len += snprintf(text + len, sizeof text - (size_t)len, "%04u-%02u-%02u", n ? p[0] | (unsigned)p[1] << 8 : 0,
                        n ? p[2] : 0, n ? p[3] : 0);
    else if (n > 0)
        len += snprintf(text + len, sizeof text - (size_t)len, "%s%" PRIu64 " ", p[0] ? "-" : "", qt_get_le(p + 1, 4));
    if (n >= at + 3)
        len += snprintf(text + len, sizeof text - (size_t)len, "%s%02u:%02u:%02u", is_time ? "" : " ", p[at], p[at + 1],
                        p[at + 2]);
    if (n >= at + 7)
        len += snprintf(text + len, sizeof text - (size_t)len, ".%06u", (unsigned)qt_get_le(p + at + 3, 4));
    len += snprintf(text + len, sizeof text - (size_t)len, "'");
    return add_text(to, text, len);
}

/* Writes a string in quotes. A DECIMAL is written without quotes. */
static int text_of(struct qt_span span, int is_decimal, struct qt_bytes *to)
{
    const char *p = span.p;
    for (size_t i = 0; i < span.len && is_decimal; i++)
        is_decimal = strchr("0123456789.+-", p[i]) != NULL && p[i] != 0;
    if (is_decimal)
        return span.len == 0 ? 0 : add_text(to, p, (int)(span.len < 100 ? span.len : 100));
    int bad = qt_bytes_add(to, "'", 1);
    for (size_t i = 0; i < span.len && bad == 0; i++)
        if ((bad = qt_bytes_add(to, p + i, 1)) == 0 && (p[i] == '\'' || p[i] == '\\'))
            bad = qt_bytes_add(to, p + i, 1);
    return bad == 0 && qt_bytes_add(to, "'", 1) == 0 ? 1 : -1;
}

static int write_value(struct qt_reading r, unsigned type, struct qt_bytes *to)
{
    struct qt_reading whole = r;
    const uint8_t *p = r.p;
    qt_skip_value(&whole, type);
    if (whole.bad)
        return 0;
    switch (type & 0xFF) {
    case 0x01:
        return integer(p, 1, type >> 15, to);
    case 0x02:
    case 0x0d:
        return integer(p, 2, type >> 15, to);
    case 0x03:
    case 0x09:
        return integer(p, 4, type >> 15, to);
    case 0x08:
        return integer(p, 8, type >> 15, to);
    case 0x04:
    case 0x05:
        return real(p, (type & 0xFF) == 0x04 ? 4 : 8, to);
    case 0x06:
        return 0;
    case 0x07:
    case 0x0a:
    case 0x0b:
    case 0x0c:
        return date_or_time(p + 1, *p, (type & 0xFF) == 0x0b, to);
    default:
        return text_of(qt_take_string(&r), (type & 0xFF) == 0 || (type & 0xFF) == 0xf6, to);
    }
}

static int is_set(const uint8_t *bits, uint64_t i) { return bits != NULL && bits[i / 8] >> i % 8 & 1; }

int qt_bound_value(const char *params, size_t len, int64_t number, struct qt_bytes *to)
{
    struct qt_reading r = qt_reading(params == NULL ? "" : params, params == NULL ? 0 : len);
    uint64_t letter = qt_take_int(&r, 1);
    if (letter == 'S') { /* 'S': parameters, then files */
        struct qt_span inner = qt_take_string(&r);
        r = qt_reading(r.bad ? "" : inner.p, r.bad ? 0 : inner.len);
        letter = qt_take_int(&r, 1);
    }
    if (r.bad || (letter != 'E' && letter != 'D' && letter != 'N'))
        return 0;
    uint64_t n = qt_take_lenenc(&r);
    if (r.bad || n > MAX_PARAMETERS || number < 0 || (uint64_t)number >= n)
        return 0;
    const uint8_t *absent = letter != 'E' ? qt_take(&r, (n + 7) / 8) : NULL;
    qt_take(&r, 5);
    const uint8_t *nulls = qt_take(&r, (n + 7) / 8);
    qt_take(&r, 1);
    const uint8_t *types = qt_take(&r, n * 2);
    for (uint64_t i = 0; !r.bad && i < n; i++) {
        unsigned type = types[i * 2] | (unsigned)types[i * 2 + 1] << 8;
        int there = !is_set(nulls, i) && !is_set(absent, i);
        if (i == (uint64_t)number)
            return there ? write_value(r, type, to) : 0;
        if (there)
            qt_skip_value(&r, type);
    }
    return 0;
}
