/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters after the query of an execution:
 *
 *   lenenc count · NULL bitmap, (count + 7) / 8 bytes · count times: type, 2 bytes · lenenc string: the value as text
 *
 * The text is a number, the bytes themselves (VARCHAR, DECIMAL, JSON), or `0x` and hex digits (STRING, BLOB). Times are
 * the 40 bytes of a MYSQL_TIME of the client library.
 *
 * The log does not record if a number was unsigned. Floating-point values have six decimals. Source: ProxySQL's
 * MySQL_Logger.cpp, issues 4895 and 4922. */
#include "logs/proxysql_params.h"

#include <stdlib.h>

#include "base/reading.h"

enum { MAX_COUNT = 65535, TIME_BYTES = 40, NUMBER_ROOM = 400, TYPE_NULL = 6 };
enum form { NUMBER, FLOATING, BYTES, HEX, CLOCK, NOTHING, UNKNOWN };

/* Returns the form in which ProxySQL writes a protocol type. Sets `bytes` to the size of the value on the wire. A size
 * of 0 means that the size varies. */
static enum form form_of(unsigned type, int *bytes)
{
    static const struct {
        uint8_t type, form, bytes;
    } forms[] = {
        {1, NUMBER, 1},  {2, NUMBER, 2}, {3, NUMBER, 4}, {4, FLOATING, 4}, {5, FLOATING, 8}, {6, NOTHING, 0},
        {7, CLOCK, 0},   {8, NUMBER, 8}, {9, NUMBER, 4}, {10, CLOCK, 0},   {11, CLOCK, 0},   {12, CLOCK, 0},
        {13, NUMBER, 2}, {0, BYTES, 0},  {15, BYTES, 0}, {245, BYTES, 0},  {246, BYTES, 0},  {247, BYTES, 0},
        {248, BYTES, 0}, {16, HEX, 0},   {249, HEX, 0},  {250, HEX, 0},    {251, HEX, 0},    {252, HEX, 0},
        {253, HEX, 0},   {254, HEX, 0},  {255, HEX, 0},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].type == type) {
            *bytes = forms[i].bytes;
            return forms[i].form;
        }
    return UNKNOWN;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Converts `0x` and hex digits to bytes. Returns 1 if converted, 0 if the text has another form, -1 when out of
 * memory. */
static int add_hex(struct qt_span text, struct qt_bytes *out)
{
    if (text.len < 2 || text.len % 2 != 0 || text.p[0] != '0' || text.p[1] != 'x')
        return 0;
    for (size_t i = 2; i < text.len; i += 2) {
        int high = digit(text.p[i]), low = digit(text.p[i + 1]);
        if (high < 0 || low < 0)
            return 0;
        char byte = (char)(high << 4 | low);
        if (qt_bytes_add(out, &byte, 1) != 0)
            return -1;
    }
    return 1;
}

static int add_number(struct qt_span text, enum form form, int bytes, struct qt_bytes *out)
{
    char room[NUMBER_ROOM], *end;
    if (text.len == 0 || text.len >= sizeof room)
        return 0;
    memcpy(room, text.p, text.len);
    room[text.len] = 0;
    if (form == NUMBER) {
        long long value = strtoll(room, &end, 10);
        return *end != 0 ? 0 : qt_bytes_add_int(out, (uint64_t)value, bytes) != 0 ? -1 : 1;
    }
    double value = strtod(room, &end);
    float single = (float)value;
    if (*end != 0)
        return 0;
    return qt_bytes_add(out, bytes == 4 ? (void *)&single : (void *)&value, (size_t)bytes) != 0 ? -1 : 1;
}

/* Converts a MYSQL_TIME to the protocol's value. DATE and DATETIME: year, month, day, ... TIME: sign, days, hours,
 * ... */
static int add_clock(struct qt_span text, unsigned type, struct qt_bytes *out)
{
    struct qt_bytes raw = {NULL, 0, 0};
    int done = add_hex(text, &raw), code = 0;
    if (done <= 0 || raw.len != TIME_BYTES) {
        qt_bytes_free(&raw);
        return done < 0 ? -1 : 0;
    }
    struct qt_reading r = qt_reading(raw.p, raw.len);
    uint64_t year = qt_take_int(&r, 4), month = qt_take_int(&r, 4), day = qt_take_int(&r, 4), hour = qt_take_int(&r, 4);
    uint64_t minute = qt_take_int(&r, 4), second = qt_take_int(&r, 4), micro = qt_take_int(&r, 8);
    uint64_t negative = qt_take_int(&r, 1);
    int is_time = type == 11;
    code |= qt_bytes_add_int(out, (is_time ? 12 : type == 10 ? 4 : 11), 1);
    if (is_time) {
        code |= qt_bytes_add_int(out, negative != 0, 1) | qt_bytes_add_int(out, day, 4);
    } else {
        code |= qt_bytes_add_int(out, year, 2) | qt_bytes_add_int(out, month, 1) | qt_bytes_add_int(out, day, 1);
    }
    if (type != 10) {
        code |= qt_bytes_add_int(out, hour, 1) | qt_bytes_add_int(out, minute, 1) | qt_bytes_add_int(out, second, 1);
        code |= qt_bytes_add_int(out, micro, 4);
    }
    qt_bytes_free(&raw);
    return code != 0 ? -1 : 1;
}

static int add_value(struct qt_span text, unsigned type, struct qt_bytes *out)
{
    int bytes = 0;
    enum form form = form_of(type, &bytes);
    switch (form) {
    case NUMBER:
    case FLOATING:
        return add_number(text, form, bytes, out);
    case CLOCK:
        return add_clock(text, type, out);
    case HEX:
        if (text.len < 2 || qt_bytes_add_lenenc(out, (text.len - 2) / 2) != 0)
            return text.len < 2 ? 0 : -1;
        return add_hex(text, out);
    case BYTES:
        return qt_bytes_add_lenenc(out, text.len) != 0 || qt_bytes_add(out, text.p, text.len) != 0 ? -1 : 1;
    default:
        return 0;
    }
}

/* Writes the head of the tape's params, with room for the types after the NULL bitmap. Returns the offset of the types,
 * or SIZE_MAX when out of memory. */
static size_t add_head(struct qt_bytes *out, uint64_t count, const uint8_t *nulls)
{
    int code = qt_bytes_add(out, "E", 1) | qt_bytes_add_lenenc(out, count) | qt_bytes_add_int(out, 0, 1) |
               qt_bytes_add_int(out, 1, 4);
    if (count == 0)
        return code != 0 ? SIZE_MAX : 0;
    code |= qt_bytes_add(out, nulls, (size_t)(count + 7) / 8) | qt_bytes_add_int(out, 1, 1);
    size_t types = out->len;
    for (uint64_t i = 0; i < count; i++)
        code |= qt_bytes_add_int(out, TYPE_NULL, 2);
    return code != 0 ? SIZE_MAX : types;
}

int qt_proxysql_params(struct qt_span block, struct qt_bytes *out, uint64_t *count)
{
    *count = 0;
    if (block.len == 0)
        return 0;
    struct qt_reading r = qt_reading(block.p, block.len);
    *count = qt_take_lenenc(&r);
    if (r.bad || *count > MAX_COUNT || (*count == 0 && qt_left(&r) > 0))
        return 0;
    size_t bitmap = (size_t)(*count + 7) / 8;
    const uint8_t *nulls = qt_take(&r, bitmap);
    if (*count > 0 && (nulls == NULL || qt_left(&r) < 3 * *count)) /* each value has at least a type and a length */
        return 0;
    size_t begin = out->len, types = add_head(out, *count, nulls);
    if (types == SIZE_MAX)
        return -1;
    for (uint64_t i = 0; i < *count; i++) {
        unsigned type = (unsigned)qt_take_int(&r, 2);
        struct qt_span text = qt_take_string(&r);
        uint8_t *bits = (uint8_t *)out->p + types - 1 - bitmap;
        int done = r.bad ? 0 : 1;
        if (done > 0 && type == TYPE_NULL)
            bits[i / 8] |= (uint8_t)(1u << (i % 8));
        else if (done > 0 && !(bits[i / 8] >> (i % 8) & 1))
            done = add_value(text, type, out);
        if (done <= 0) {
            out->len = begin;
            return done;
        }
        qt_put_le((uint8_t *)out->p + types + 2 * i, type, 2);
    }
    if (qt_left(&r) > 0)
        out->len = begin;
    return qt_left(&r) == 0;
}
