/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a value into symbols. The shape of a value decides which of its characters change, and the alphabet for each
 * change. A pseudonym keeps the shape, so the mapping is one to one.
 *
 *   number        sign, leading zeros, first digit and exponent stay; it still fits the same integer types
 *   date, time    year stays; month, day (1 to 28, 29 to 31), hour, minute and second each change in their range
 *   hexadecimal   at least 16 digits, with or without dashes: UUIDs, hashes
 *   text          letters become letters, digits become digits; numbers in it get no new leading zero; true,
 *                 false and null stay in JSON; $.paths and '%Y-%m-%d' are not values */
#include "pseudonyms/value.h"

#include <stdlib.h>
#include <string.h>

#include "pseudonyms/symbols.h"

static int is_digit(char c) { return c >= '0' && c <= '9'; }
static int is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t digits(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && is_digit(p[i]))
        i++;
    return i;
}

/* Counts the integer-type limits that the number exceeds. A pseudonym exceeds the same limits. */
static int type_of(const char *p, size_t n)
{
    static const char *const LARGEST[] = {"127",
                                          "128",
                                          "255",
                                          "32767",
                                          "32768",
                                          "65535",
                                          "8388607",
                                          "8388608",
                                          "16777215",
                                          "2147483647",
                                          "2147483648",
                                          "4294967295",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "18446744073709551615"};
    int type = 0;
    for (size_t i = 0; i < sizeof LARGEST / sizeof *LARGEST; i++) {
        size_t len = strlen(LARGEST[i]);
        type += n > len || (n == len && memcmp(p, LARGEST[i], n) > 0);
    }
    return type;
}

static int same_type(const char *was, const char *now, size_t n)
{
    size_t from = 0;
    while (from < n && (!is_digit(was[from]) || was[from] == '0'))
        from++;
    size_t len = digits(was + from, n - from);
    return len > 20 || type_of(was + from, len) == type_of(now + from, len);
}

/* Matches [sign] digits [. digits] [e [sign] digits] on the whole text and adds its symbols. */
static int is_number(struct qt_pseudonyms *s, const char *p, size_t n)
{
    size_t at = n > 0 && (*p == '-' || *p == '+'), whole = digits(p + at, n - at), end = at + whole, fraction = 0;
    if (end < n && p[end] == '.') {
        fraction = digits(p + end + 1, n - end - 1);
        end += 1 + fraction;
    }
    size_t mantissa = end;
    if (whole + fraction == 0)
        return 0;
    if (end < n && (p[end] | 0x20) == 'e') {
        size_t sign = end + 1 < n && (p[end + 1] == '-' || p[end + 1] == '+');
        size_t exponent = digits(p + end + 1 + sign, n - end - 1 - sign);
        end += exponent > 0 ? 1 + sign + exponent : 0;
    }
    if (end != n)
        return 0;
    while (at < mantissa && !(p[at] >= '1' && p[at] <= '9'))
        at++;
    for (at++; at < mantissa; at++)
        if (is_digit(p[at]))
            qt_symbol_add(s, at, (unsigned)(p[at] - '0'), 10, '0', QT_SYMBOL_BYTE);
    return 1;
}

static int pair(const char *p) { return is_digit(p[0]) && is_digit(p[1]) ? (p[0] - '0') * 10 + p[1] - '0' : 100; }

static void add_pair(struct qt_pseudonyms *s, const char *p, size_t at, unsigned radix, unsigned base)
{
    qt_symbol_add(s, at, (unsigned)pair(p + at) - base, radix, base, QT_SYMBOL_PAIR);
}

/* Matches HH:MM:SS[.digits] up to the end of the text. */
static int add_time(struct qt_pseudonyms *s, const char *p, size_t at, size_t n)
{
    if (n - at < 8 || p[at + 2] != ':' || p[at + 5] != ':' || pair(p + at) > 23 || pair(p + at + 3) > 59 ||
        pair(p + at + 6) > 59)
        return 0;
    size_t fraction = at + 8 < n && p[at + 8] == '.' ? digits(p + at + 9, n - at - 9) : 0;
    if (at + 8 + (at + 8 < n && p[at + 8] == '.') + fraction != n)
        return 0;
    add_pair(s, p, at, 24, 0);
    add_pair(s, p, at + 3, 60, 0);
    add_pair(s, p, at + 6, 60, 0);
    for (size_t i = at + 9; i < n; i++)
        qt_symbol_add(s, i, (unsigned)(p[i] - '0'), 10, '0', QT_SYMBOL_BYTE);
    return 1;
}

/* Returns the number of days of a month, or 0 for an invalid month. */
static int days_of(const char *date)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = pair(date) * 100 + pair(date + 2), month = pair(date + 5);
    if (month < 1 || month > 12)
        return 0;
    return days[month - 1] + (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
}

static int is_day(const char *was, const char *now, size_t n)
{
    (void)was;
    return n < 10 || now[4] != '-' || pair(now + 8) <= days_of(now);
}

static int is_moment(struct qt_pseudonyms *s, const char *p, size_t n)
{
    if (n >= 8 && p[2] == ':')
        return add_time(s, p, 0, n);
    if (n < 10 || digits(p, 4) != 4 || p[4] != '-' || p[7] != '-')
        return 0;
    int month = pair(p + 5), day = pair(p + 8);
    if (month < 1 || month > 12 || day < 1 || day > 31)
        return 0;
    if (day <= 28) {
        add_pair(s, p, 5, 12, 1);
        add_pair(s, p, 8, 28, 1);
    } else if (day <= days_of(p)) {
        add_pair(s, p, 5, 12, 1); /* invalid dates are encrypted again */
        add_pair(s, p, 8, 3, 29);
    }
    if (n == 10)
        return 1;
    if ((p[10] == ' ' || p[10] == 'T') && add_time(s, p, 11, n))
        return 1;
    s->n = 0;
    return 0;
}

static int is_hexadecimal(struct qt_pseudonyms *s, const char *p, size_t n)
{
    int upper = 0, some = 0;
    for (size_t i = 0; i < n; i++) {
        if (hex_value(p[i]) < 0 && p[i] != '-')
            return 0;
        upper |= p[i] >= 'A' && p[i] <= 'F';
        some += p[i] != '-';
    }
    if (some < 16)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (p[i] != '-')
            qt_symbol_add(s, i, (unsigned)hex_value(p[i]), 16, upper ? 'A' : 'a', QT_SYMBOL_HEX);
    return 1;
}

/* Returns 1 for a JSON path or a format of DATE_FORMAT or STR_TO_DATE, in which each letter follows a %. */
static int is_no_value(const char *p, size_t n)
{
    int formats = 0;
    if (n >= 2 && p[0] == '$' && (p[1] == '.' || p[1] == '['))
        return 1;
    for (size_t i = 0; i < n; i++) {
        int letter = is_letter(p[i]) || is_digit(p[i]) || (p[i] & 0x80);
        if (letter && (i == 0 || p[i - 1] != '%'))
            return 0;
        formats += letter;
    }
    return formats > 1 || (formats == 1 && n == 2);
}

/* Returns the number of bytes of a UTF-8 character above ASCII, or 1 for a byte that begins no such character. */
static size_t character(const char *p, size_t n)
{
    unsigned char c = (unsigned char)*p;
    size_t len = c >= 0xC2 && c <= 0xDF ? 2 : c >= 0xE0 && c <= 0xEF ? 3 : c >= 0xF0 && c <= 0xF4 ? 4 : 1;
    if (len > n)
        return 1;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 1;
    return len;
}

static size_t json_word(const char *p, size_t n)
{
    static const char *const WORDS[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++) {
        size_t len = strlen(WORDS[i]);
        if (n >= len && memcmp(p, WORDS[i], len) == 0 && (n == len || !is_letter(p[len])))
            return len;
    }
    return 0;
}

/* Adds a run of digits. Leading zeros stay, and no other digit becomes a leading zero. */
static size_t add_run(struct qt_pseudonyms *s, const char *p, size_t at, size_t n)
{
    size_t end = at + digits(p + at, n - at);
    while (at < end && p[at] == '0')
        at++;
    for (size_t first = at; at < end; at++)
        if (at == first)
            qt_symbol_add(s, at, (unsigned)(p[at] - '1'), 9, '1', QT_SYMBOL_BYTE);
        else
            qt_symbol_add(s, at, (unsigned)(p[at] - '0'), 10, '0', QT_SYMBOL_BYTE);
    return end;
}

static void add_text(struct qt_pseudonyms *s, const char *p, size_t n)
{
    int json = n > 1 && (*p == '{' || *p == '[');
    for (size_t i = 0; i < n;) {
        size_t kept = json && (i == 0 || !is_letter(p[i - 1])) ? json_word(p + i, n - i) : 0;
        if (p[i] == '\\')
            kept = 2; /* escape sequence */
        else if (json && i > 0 && is_digit(p[i - 1]) && (p[i] | 0x20) == 'e')
            kept = 1; /* exponent letter of a JSON number */
        if (kept > 0) {
            i += kept;
        } else if (is_digit(p[i])) {
            i = add_run(s, p, i, n);
        } else if (is_letter(p[i])) {
            unsigned base = p[i] >= 'a' ? 'a' : 'A';
            qt_symbol_add(s, i, (unsigned)p[i] - base, 26, base, QT_SYMBOL_BYTE);
            i++;
        } else if (p[i] & 0x80) {
            size_t len = character(p + i, n - i), last = i + len - 1;
            unsigned bits = len > 1 ? 6 : 5, value = (unsigned char)p[last] & ((1U << bits) - 1);
            qt_symbol_add(s, last, value, 1U << bits, (unsigned char)p[last] - value, QT_SYMBOL_BYTE);
            i += len;
        } else {
            i++;
        }
    }
}

int qt_pseudonyms_value(struct qt_pseudonyms *s, char *p, size_t n)
{
    if (qt_symbols_reset(s, n) != 0)
        return -1;
    if (n == 0 || is_no_value(p, n))
        return 0;
    if (is_number(s, p, n))
        return qt_symbols_walk(s, p, n, same_type);
    if (is_moment(s, p, n))
        return qt_symbols_walk(s, p, n, is_day);
    if (!is_hexadecimal(s, p, n))
        add_text(s, p, n);
    return qt_symbols_walk(s, p, n, NULL);
}

int qt_pseudonyms_digits(struct qt_pseudonyms *s, char *p, size_t n, int radix)
{
    int upper = 0;
    if (qt_symbols_reset(s, n) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        upper |= p[i] >= 'A' && p[i] <= 'F';
    for (size_t i = 0; i < n; i++)
        if (hex_value(p[i]) >= 0 && hex_value(p[i]) < radix)
            qt_symbol_add(s, i, (unsigned)hex_value(p[i]), (unsigned)radix, upper ? 'A' : 'a', QT_SYMBOL_HEX);
    return qt_symbols_walk(s, p, n, NULL);
}
