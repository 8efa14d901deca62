/* SPDX-License-Identifier: Apache-2.0 */
/* Formats: reference manual, "The Slow Query Log" and log_timestamps; MariaDB and MySQL up to 5.6 print %02d%02d%02d
 * %2d:%02d:%02d. */
#include "reader/logtime.h"

/* Howard Hinnant's algorithm (chrono-compatible low-level date algorithms). */
int64_t qt_days_from_civil(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int is_digit(char c) { return c >= '0' && c <= '9'; }

/* Two digits, or a space and one digit as old logs pad hours; -1 where it is neither. */
static int two(const char *p)
{
    if (!is_digit(p[1]) || !(is_digit(p[0]) || p[0] == ' '))
        return -1;
    return (p[0] == ' ' ? 0 : (p[0] - '0') * 10) + (p[1] - '0');
}

static int plausible(int month, int day, int hour, int minute, int second)
{
    return month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour >= 0 && hour <= 23 && minute >= 0 &&
           minute <= 59 && second >= 0 && second <= 60;
}

static struct qt_logtime parse_local(const char *p, size_t len)
{
    struct qt_logtime out = {QT_LOGTIME_BAD, 0, 0};
    if (len >= 14 && p[5] != ' ' && p[6] == ' ' && p[8] == ':')
        p--, len++; /* an hour of one digit without its padding, as some tools rewrite it: the blank before it serves */
    if (len < 15)
        return out;
    const char *date = p[6] == ' ' ? p : p + 1;
    if (date[6] != ' ' || p[9] != ':' || p[12] != ':' || date[0] == ' ' || date[2] == ' ' || date[4] == ' ')
        return out;
    int year = two(date), month = two(date + 2), day = two(date + 4);
    int hour = two(p + 7), minute = two(p + 10), second = two(p + 13);
    if (year < 0 || !plausible(month, day, hour, minute, second))
        return out;
    out.kind = QT_LOGTIME_LOCAL;
    out.ns = (qt_days_from_civil(year < 70 ? 2000 + year : 1900 + year, month, day) * 86400 + hour * 3600 +
              minute * 60 + second) *
             QT_SECOND;
    out.length = date == p ? 15 : 14;
    return out;
}

static int64_t fraction(const char *p, size_t len, size_t *used)
{
    int64_t value = 0, unit = QT_SECOND;
    size_t i = 0;
    for (; i < len && is_digit(p[i]); i++)
        if (unit > 1) {
            unit /= 10;
            value += (p[i] - '0') * unit;
        }
    *used = i;
    return value;
}

static struct qt_logtime parse_iso(const char *p, size_t len)
{
    struct qt_logtime out = {QT_LOGTIME_BAD, 0, 0};
    if (len < 20 || p[4] != '-' || p[7] != '-' || (p[10] != 'T' && p[10] != ' ') || p[13] != ':' || p[16] != ':' ||
        !is_digit(p[0]))
        return out;
    int century = two(p), year = two(p + 2), month = two(p + 5), day = two(p + 8);
    int hour = two(p + 11), minute = two(p + 14), second = two(p + 17);
    if (century < 19 || century > 21 || year < 0 || !plausible(month, day, hour, minute, second))
        return out; /* nanoseconds since 1970 end in 2262 */
    int64_t ns = (qt_days_from_civil(century * 100 + year, month, day) * 86400 + hour * 3600 + minute * 60 + second) *
                 QT_SECOND;
    size_t at = 19, used = 0;
    if (p[at] == '.') {
        ns += fraction(p + at + 1, len - at - 1, &used);
        at += 1 + used;
    }
    if (at < len && p[at] == 'Z') {
        at++;
    } else if (at + 6 <= len && (p[at] == '+' || p[at] == '-') && p[at + 3] == ':') {
        int zone_hour = two(p + at + 1), zone_minute = two(p + at + 4);
        if (zone_hour < 0 || zone_hour > 15 || zone_minute < 0 || zone_minute > 59)
            return out;
        int64_t zone = (zone_hour * 3600 + zone_minute * 60) * QT_SECOND;
        ns -= p[at] == '+' ? zone : -zone;
        at += 6;
    } else {
        return out;
    }
    out.kind = QT_LOGTIME_UTC;
    out.ns = ns;
    out.length = at;
    return out;
}

struct qt_logtime qt_logtime_parse(const char *text, size_t len)
{
    if (len > 4 && text[4] == '-')
        return parse_iso(text, len);
    return parse_local(text, len);
}
