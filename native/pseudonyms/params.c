/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the values in parameters, long data and files. The same value gets the same pseudonym in parameters and in
 * statement texts. */
#include "pseudonyms/params.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/reading.h"
#include "pseudonyms/value.h"

/* Replaces an integer of `size` bytes. Its decimal text is replaced and converted back. */
static int integer(struct qt_pseudonyms *s, uint8_t *p, int size, int is_unsigned)
{
    char text[32];
    uint64_t value = qt_get_le(p, size);
    int negative = !is_unsigned && value >> (8 * size - 1) & 1;
    if (negative)
        value = size == 8 ? -value : (UINT64_C(1) << (8 * size)) - value;
    int len = snprintf(text, sizeof text, "%" PRIu64, value);
    if (qt_pseudonyms_value(s, text, (size_t)len) != 0)
        return -1;
    value = strtoull(text, NULL, 10);
    if (negative)
        value = -value;
    for (int i = 0; i < size; i++)
        p[i] = (uint8_t)(value >> (8 * i));
    return 0;
}

static int real(struct qt_pseudonyms *s, uint8_t *p, int size)
{
    char text[64];
    float f;
    double d;
    if (size == 4)
        memcpy(&f, p, 4);
    else
        memcpy(&d, p, 8);
    int len = snprintf(text, sizeof text, size == 4 ? "%.9g" : "%.17g", size == 4 ? (double)f : d);
    if (memchr(text, 'n', (size_t)len) != NULL) /* nan or inf */
        return 0;
    int bad = qt_pseudonyms_value(s, text, (size_t)len);
    d = strtod(text, NULL);
    f = (float)d;
    if (size == 4)
        memcpy(p, &f, 4);
    else
        memcpy(p, &d, 8);
    return bad;
}

/* Field sizes in bytes. DATE, DATETIME and TIMESTAMP: year 2, month 1, day 1 [hour, minute, second [microseconds 4]].
 * TIME: sign 1, days 4, hour, ... */
static int date_or_time(struct qt_pseudonyms *s, uint8_t *p, size_t n, int is_time)
{
    char text[40];
    size_t at = is_time ? 5 : 4;
    unsigned micro = 0;
    if (n != 0 && n != 4 && n != 7 && n != 8 && n != 11 && n != 12)
        return 0;
    if (n < at)
        return 0;
    int has_clock = n >= at + 3, has_micro = n >= at + 7, len = 0;
    if (has_micro)
        micro = (unsigned)qt_get_le(p + at + 3, 4);
    if (!is_time)
        len = snprintf(text, sizeof text, "%04u-%02u-%02u%s", p[0] | (unsigned)p[1] << 8, p[2], p[3],
                       has_clock ? " " : "");
    if (has_clock)
        len += snprintf(text + len, sizeof text - (size_t)len, "%02u:%02u:%02u", p[at], p[at + 1], p[at + 2]);
    if (has_micro)
        len += snprintf(text + len, sizeof text - (size_t)len, ".%06u", micro);
    if (len == 0 || qt_pseudonyms_value(s, text, (size_t)len) != 0)
        return len == 0 ? 0 : -1;
    unsigned month = p[2], day = p[3], hour = 0, minute = 0, second = 0;
    const char *clock = text + (is_time ? 0 : 11);
    if (!is_time && sscanf(text + 5, "%2u-%2u", &month, &day) == 2) {
        p[2] = (uint8_t)month;
        p[3] = (uint8_t)day;
    }
    if (has_clock && sscanf(clock, "%2u:%2u:%2u", &hour, &minute, &second) == 3) {
        p[at] = (uint8_t)hour;
        p[at + 1] = (uint8_t)minute;
        p[at + 2] = (uint8_t)second;
    }
    if (has_micro && sscanf(clock + 9, "%6u", &micro) == 1)
        qt_put_le(p + at + 3, micro, 4);
    return 0;
}

static int value(struct qt_pseudonyms *s, struct qt_reading *r, unsigned type)
{
    uint8_t *from = (uint8_t *)(uintptr_t)r->p;
    struct qt_reading whole = *r;
    qt_skip_value(r, type);
    if (r->bad)
        return -1;
    switch (type & 0xFF) {
    case 0x01:
        return integer(s, from, 1, type >> 15);
    case 0x02:
    case 0x0d:
        return integer(s, from, 2, type >> 15);
    case 0x03:
    case 0x09:
        return integer(s, from, 4, type >> 15);
    case 0x08:
        return integer(s, from, 8, type >> 15);
    case 0x04:
    case 0x05:
        return real(s, from, (type & 0xFF) == 0x04 ? 4 : 8);
    case 0x06:
        return 0;
    case 0x07:
    case 0x0a:
    case 0x0b:
    case 0x0c:
        return date_or_time(s, from + 1, *from, (type & 0xFF) == 0x0b);
    default: {
        struct qt_span text = qt_take_string(&whole);
        return qt_pseudonyms_value(s, (char *)(uintptr_t)text.p, text.len);
    }
    }
}

/* Handles params of kind E, D and N. See schemas/params.md. */
static int execution(struct qt_pseudonyms *s, struct qt_reading r, char letter)
{
    uint64_t n = qt_take_lenenc(&r);
    const uint8_t *absent = letter != 'E' ? qt_take(&r, (n + 7) / 8) : NULL;
    qt_take(&r, 5);
    if (n == 0)
        return r.bad ? -1 : 0;
    const uint8_t *nulls = qt_take(&r, (n + 7) / 8);
    qt_take(&r, 1);
    const uint8_t *types = qt_take(&r, n * 2);
    int bad = r.bad;
    for (uint64_t i = 0; i < n && !bad; i++)
        if (!(nulls[i / 8] >> i % 8 & 1) && !(absent != NULL && absent[i / 8] >> i % 8 & 1))
            bad = value(s, &r, types[i * 2] | (unsigned)types[i * 2 + 1] << 8);
    return bad ? -1 : 0;
}

static int bulk(struct qt_pseudonyms *s, struct qt_reading r)
{
    uint64_t n = qt_take_lenenc(&r);
    qt_take(&r, 2);
    const uint8_t *types = qt_take(&r, n * 2);
    int bad = r.bad || n == 0;
    while (!bad && qt_left(&r) > 0)
        for (uint64_t i = 0; i < n && !bad; i++) {
            uint64_t indicator = qt_take_int(&r, 1);
            bad = r.bad || indicator > 3;
            if (!bad && indicator == 0)
                bad = value(s, &r, types[i * 2] | (unsigned)types[i * 2 + 1] << 8);
        }
    return bad ? -1 : 0;
}

/* Query attributes: count, number of sets, NULL bitmap, the byte 1, (type, name) for each, values. */
static int attributes(struct qt_pseudonyms *s, struct qt_reading r)
{
    uint64_t n = qt_take_lenenc(&r);
    qt_take_lenenc(&r);
    const uint8_t *nulls = qt_take(&r, (n + 7) / 8);
    qt_take(&r, 1);
    struct qt_reading types = r;
    for (uint64_t i = 0; i < n && !r.bad; i++) {
        qt_take(&r, 2);
        qt_take_string(&r);
    }
    int bad = r.bad;
    for (uint64_t i = 0; i < n && !bad; i++) {
        unsigned type = (unsigned)qt_take_int(&types, 2);
        qt_take_string(&types);
        if (!(nulls[i / 8] >> i % 8 & 1))
            bad = value(s, &r, type);
    }
    return bad ? -1 : 0;
}

/* Replaces each field of a file. Commas, tabs, semicolons, bars, quotes and line ends separate fields. */
static int file(struct qt_pseudonyms *s, char *p, size_t n)
{
    int bad = 0;
    for (size_t at = 0; at < n && !bad;) {
        size_t end = at;
        while (end < n && strchr(",\t;|\"\r\n", p[end]) == NULL)
            end++;
        bad = qt_pseudonyms_value(s, p + at, end - at);
        at = end + 1;
    }
    return bad;
}

static int own_params(struct qt_pseudonyms *, char *p, size_t n);

/* Handles nested params that are followed by files. */
static int several(struct qt_pseudonyms *s, struct qt_reading r)
{
    struct qt_span own = qt_take_string(&r);
    int bad = r.bad || own_params(s, (char *)(uintptr_t)own.p, own.len) != 0;
    while (!bad && qt_left(&r) > 0) {
        struct qt_span content = qt_take_string(&r);
        bad = r.bad || file(s, (char *)(uintptr_t)content.p, content.len) != 0;
    }
    return bad ? -1 : 0;
}

int qt_pseudonyms_params(struct qt_pseudonyms *s, char *p, size_t n)
{
    return n > 0 && *p == 'S' ? several(s, qt_reading(p + 1, n - 1)) : own_params(s, p, n);
}

static int own_params(struct qt_pseudonyms *s, char *p, size_t n)
{
    if (n == 0)
        return 0;
    struct qt_reading r = qt_reading(p + 1, n - 1);
    switch (*p) {
    case 'E':
    case 'D':
    case 'N':
        return execution(s, r, *p);
    case 'B':
        return bulk(s, r);
    case 'A':
        return attributes(s, r);
    case 'L':
        return n > 3 ? qt_pseudonyms_value(s, p + 3, n - 3) : 0;
    case 'I':
        return file(s, p + 1, n - 1);
    case 'F':
    case 'C':
        return 0;
    default: /* unknown kind: all bytes after the kind are cleared */
        memset(p + 1, 0, n - 1);
        return 0;
    }
}
