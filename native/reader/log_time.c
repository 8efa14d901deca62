/* SPDX-License-Identifier: Apache-2.0 */
/* Formats: reference manual, "The Slow Query Log" and log_timestamps. MariaDB, and MySQL up to 5.6, print %02d%02d%02d
 * %2d:%02d:%02d. */
#include "reader/log_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Uses Howard Hinnant's algorithm (chrono-compatible low-level date algorithms). */
int64_t qt_days_from_civil(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int is_digit(char c) { return c >= '0' && c <= '9'; }

/* Reads two digits, or a space and one digit, because old logs pad hours with a space. Returns -1 for other bytes. */
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
        p--, len++; /* unpadded hour, as some tools write it: the preceding blank replaces the padding */
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
        return out; /* 64-bit nanoseconds since 1970 end in 2262 */
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

/* Local times are ambiguous twice a year. When daylight saving time ends, an hour occurs twice. When it begins, an hour
 * is missing. The UTC offsets of a time zone resolve both cases. Without these offsets, a jump is reported, unless it
 * is too small to matter. */

#define HOUR (3600 * QT_SECOND)
#define BACK (5 * QT_SECOND)      /* smaller steps back are normal: completion order is not exact to the second */
#define HARMLESS (60 * QT_SECOND) /* a clock that is set back by less affects only a few events */
#define NEAR (120 * QT_SECOND)    /* allowed silence in addition to a missing hour */
#define LAST_NIGHT_HOUR 3         /* zones change their offset between 0:00 and 4:00 */

int qt_local_clock_init(struct qt_local_clock *c, const struct qt_log_options *options)
{
    size_t bytes = (size_t)options->n_zone * sizeof(int64_t);
    c->timezone_ns = options->timezone_ns;
    c->has_timezone = options->has_timezone;
    if (options->n_zone == 0)
        return 0;
    c->zone_from_ns = malloc(bytes);
    c->zone_offset_ns = malloc(bytes);
    if (c->zone_from_ns == NULL || c->zone_offset_ns == NULL)
        return -1;
    memcpy(c->zone_from_ns, options->zone_from_ns, bytes);
    memcpy(c->zone_offset_ns, options->zone_offset_ns, bytes);
    c->n_zone = options->n_zone;
    return 0;
}

void qt_local_clock_free(struct qt_local_clock *c)
{
    free(c->zone_from_ns);
    free(c->zone_offset_ns);
}

static int64_t zone_utc(struct qt_local_clock *c, int64_t local_ns)
{
    int64_t found = INT64_MIN, before = local_ns - c->zone_offset_ns[0];
    for (int32_t i = 0; i < c->n_zone; i++) {
        int64_t utc = local_ns - c->zone_offset_ns[i];
        if (utc < c->zone_from_ns[i])
            break;
        before = utc; /* result for a local time that does not exist in the zone */
        if (i + 1 < c->n_zone && utc >= c->zone_from_ns[i + 1])
            continue;
        if (found == INT64_MIN || found < c->utc_ns - BACK)
            found = utc;
    }
    return found != INT64_MIN ? found : before;
}

void qt_local_clock_set(struct qt_local_clock *c, int64_t local_ns, struct qt_event_time *m)
{
    m->is_local = c->n_zone == 0;
    m->when_ns = c->n_zone > 0 ? zone_utc(c, local_ns) : local_ns - (c->has_timezone ? c->timezone_ns : 0);
    c->utc_ns = m->when_ns;
}

/* Returns whether the step `ahead` is little more than an hour that daylight saving time may have skipped. */
static int is_missing_hour(const struct qt_local_clock *c, int64_t before, int64_t ahead)
{
    int64_t local = before + (c->has_timezone ? c->timezone_ns : 0), begin = (local / HOUR + 1) * HOUR;
    return ahead >= HOUR && ahead < HOUR + NEAR && local + ahead >= begin + HOUR &&
           begin / HOUR % 24 <= LAST_NIGHT_HOUR;
}

struct qt_jump *qt_local_clock_note_jump(struct qt_local_clock *c, const struct qt_event_time *m, size_t row)
{
    struct qt_jump *jump = NULL;
    if (!m->is_local)
        return NULL;
    int64_t ahead = c->last_second != 0 ? m->when_ns - c->last_second : 0;
    if ((ahead < -BACK || is_missing_hour(c, c->last_second, ahead)) && c->n_jumps < QT_JUMPS) {
        jump = &c->jumps[c->n_jumps++];
        *jump = (struct qt_jump){.row = row, .ahead_ns = ahead};
    }
    c->last_second = m->when_ns;
    return jump;
}

static void report_jump(struct qt_problems *problems, const struct qt_jump *jump)
{
    char text[256];
    int64_t seconds = jump->ahead_ns / QT_SECOND;
    if (seconds > 0)
        snprintf(text, sizeof text,
                 "the local time jumps forward by %lld s: daylight saving time began, or the server was silent."
                 " Add --log-timezone NAME to convert the times correctly.",
                 (long long)seconds);
    else
        snprintf(text, sizeof text,
                 "the local time goes back by %lld s: daylight saving time ended, or the clock was set back. Later "
                 "times are too close together. Add --log-timezone NAME to convert them.",
                 (long long)-seconds);
    qt_problems_add(problems, jump->file, jump->line, jump->offset,
                    -jump->ahead_ns > HARMLESS || seconds > 0 ? "ambiguous_time" : "clock_set_back", text, NULL, 0);
}

void qt_local_clock_report_jumps(struct qt_local_clock *c, const struct qt_event_time *events,
                                 struct qt_problems *problems)
{
    for (size_t i = 0; i < c->n_jumps; i++)
        if (events[c->jumps[i].row].is_ambiguous)
            report_jump(problems, &c->jumps[i]);
    c->n_jumps = 0;
}
