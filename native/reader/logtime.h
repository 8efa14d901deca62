/* SPDX-License-Identifier: Apache-2.0 */
/* The time stamps of MySQL's and MariaDB's text logs. */
#ifndef QT_LOGTIME_H
#define QT_LOGTIME_H

#include <stddef.h>
#include <stdint.h>

#define QT_SECOND INT64_C(1000000000)

enum qt_logtime_kind {
    QT_LOGTIME_BAD = 0,
    QT_LOGTIME_LOCAL = 1, /* `071015 21:43:52`: local, zoneless, whole seconds */
    QT_LOGTIME_UTC = 2    /* `2016-07-20T18:13:25.698433Z` or with +02:00: microseconds, zone known */
};

struct qt_logtime {
    int kind;      /* enum qt_logtime_kind */
    int64_t ns;    /* since the epoch; for LOCAL as if the local time were UTC */
    size_t length; /* bytes taken */
};

/* Reads one stamp from at most `len` bytes. */
struct qt_logtime qt_logtime_parse(const char *text, size_t len);
/* Days from 1970-01-01 of a proleptic Gregorian date; any year from 1 to 9999. */
int64_t qt_days_from_civil(int64_t year, int month, int day);

#endif
