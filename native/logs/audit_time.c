/* SPDX-License-Identifier: Apache-2.0 */
#include "logs/audit_time.h"

#include <string.h>

#include "reader/logtime.h"

enum { MAX_FRACTION = 9 };

struct cursor {
    const char *p, *end;
};

static int is_digit(const struct cursor *c, int at) { return c->end - c->p > at && c->p[at] >= '0' && c->p[at] <= '9'; }

/* From `least` to `most` digits; -1 = there are fewer. */
static int64_t digits(struct cursor *c, int least, int most)
{
    int64_t value = 0;
    int n = 0;
    for (; n < most && is_digit(c, 0); n++)
        value = value * 10 + *c->p++ - '0';
    return n < least ? -1 : value;
}

static int take(struct cursor *c, char wanted)
{
    int found = c->p < c->end && *c->p == wanted;
    c->p += found;
    return found;
}

/* A month as two digits or by its name; -1 = neither. */
static int64_t month(struct cursor *c)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int i = 0; i < 12 && c->end - c->p >= 3; i++)
        if (memcmp(c->p, names + 3 * i, 3) == 0) {
            c->p += 3;
            return i + 1;
        }
    return digits(c, 2, 2);
}

/* The days since the epoch, or -1. `separated`: the parts of the date have separators. */
static int64_t date(struct cursor *c, int *separated)
{
    int64_t year = digits(c, 4, 4);
    char between = c->p < c->end ? *c->p : 0;
    *separated = between != 0 && strchr("-/. ", between) != NULL;
    c->p += *separated;
    int64_t m = month(c);
    if (*separated && !take(c, between))
        return -1;
    while (*separated && between == ' ' && take(c, ' ')) /* as syslog writes a day of one digit */
        ;
    int64_t day = digits(c, *separated ? 1 : 2, 2);
    if (year < 1970 || year > 2199 || m < 1 || m > 12 || day < 1 || day > 31)
        return -1;
    return qt_days_from_civil(year, (int)m, (int)day);
}

/* The seconds of a day; -1 = it is no time. */
static int64_t clock_time(struct cursor *c, int *separated)
{
    int64_t hour = digits(c, 2, 2);
    *separated = take(c, ':');
    int64_t minute = digits(c, 2, 2);
    if (*separated && !take(c, ':'))
        return -1;
    int64_t second = digits(c, 2, 2);
    return hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60
               ? -1
               : hour * 3600 + minute * 60 + second;
}

/* Nanoseconds behind a dot; -1 = there are no digits. */
static int64_t fraction(struct cursor *c, int64_t *unit_ns)
{
    *unit_ns = QT_SECOND;
    if (!take(c, '.'))
        return 0;
    const char *first = c->p;
    int64_t value = digits(c, 1, MAX_FRACTION), unit = QT_SECOND;
    for (const char *p = first; p < c->p; p++)
        unit /= 10;
    if (value > 0)
        *unit_ns = unit;
    return value < 0 ? -1 : value * unit;
}

/* What a zone is in front of UTC, in seconds; -1 = something else follows. */
static int zone(struct cursor *c, struct qt_audit_time *out, int64_t *offset)
{
    static const char *const utc[] = {"Z", "UTC", "GMT"};
    *offset = 0;
    out->has_zone = c->p < c->end;
    if (!out->has_zone)
        return 0;
    (void)take(c, ' ');
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(utc[i]);
        if ((size_t)(c->end - c->p) == n && memcmp(c->p, utc[i], n) == 0)
            return 0;
    }
    int west = take(c, '-');
    if (!west && !take(c, '+'))
        return -1;
    int64_t hours = digits(c, 2, 2);
    (void)take(c, ':');
    int64_t minutes = c->p < c->end ? digits(c, 2, 2) : 0;
    if (hours < 0 || hours > 15 || minutes < 0 || minutes > 59 || c->p != c->end)
        return -1;
    *offset = (hours * 60 + minutes) * (west ? -60 : 60);
    return 0;
}

static int since_epoch(struct qt_span s, struct qt_audit_time *out)
{
    struct cursor c = {s.p, s.p + s.len};
    int64_t us = s.len >= 15 && s.len <= 16 ? digits(&c, 15, 16) : -1;
    if (us < 0 || c.p != c.end || us >= INT64_C(7258118400000000))
        return 0;
    *out = (struct qt_audit_time){us * 1000, 1000, 1};
    return 1;
}

int qt_audit_time(struct qt_span s, struct qt_audit_time *out)
{
    if (since_epoch(s, out))
        return 1;
    struct cursor c = {s.p, s.p + s.len};
    int date_separated, time_separated;
    int64_t days = date(&c, &date_separated);
    int between = days >= 0 && (take(&c, ' ') || take(&c, 'T'));
    int64_t seconds = days >= 0 ? clock_time(&c, &time_separated) : -1;
    if (seconds < 0 || (!between && (date_separated || time_separated)))
        return 0;
    int64_t offset, ns = fraction(&c, &out->unit_ns);
    if (ns < 0 || zone(&c, out, &offset) != 0)
        return 0;
    out->ns = (days * 86400 + seconds - offset) * QT_SECOND + ns;
    return 1;
}
