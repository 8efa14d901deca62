/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the time stamps of MySQL's and MariaDB's text logs, and converts local times to UTC. */
#ifndef QT_LOG_TIME_H
#define QT_LOG_TIME_H

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "querytape.h"
#include "reader/problems.h"
#include "reader/timeline.h"

enum qt_logtime_kind {
    QT_LOGTIME_BAD = 0,
    QT_LOGTIME_LOCAL = 1, /* `071015 21:43:52`: local time without a zone, whole seconds */
    QT_LOGTIME_UTC = 2    /* `2016-07-20T18:13:25.698433Z`, or with +02:00: microseconds, with a zone */
};

struct qt_logtime {
    int kind;      /* enum qt_logtime_kind */
    int64_t ns;    /* since the epoch; LOCAL: as if the local time were UTC */
    size_t length; /* bytes parsed */
};

/* Parses one time stamp from at most `len` bytes. */
struct qt_logtime qt_logtime_parse(const char *text, size_t len);
/* Returns the days from 1970-01-01 to a date of the proleptic Gregorian calendar, for years 1 to 9999. */
int64_t qt_days_from_civil(int64_t year, int month, int day);

/* A place where a log's local times go back or skip an hour. */
struct qt_jump {
    size_t row; /* row of the jump in the batch */
    int64_t ahead_ns, file, line, offset;
};

enum { QT_JUMPS = 256 }; /* maximum number of jumps per batch */

/* Converts a log's local times to UTC and finds jumps in the local times. Only the parsing thread uses it. */
struct qt_local_clock {
    int64_t timezone_ns; /* UTC offset of local times, valid if `has_timezone` */
    int has_timezone;
    int64_t *zone_from_ns, *zone_offset_ns; /* owned; offsets of a zone with daylight saving time */
    int32_t n_zone;
    int64_t utc_ns;                 /* last converted time; 0 = none */
    int64_t last_second;            /* time of the last event with whole seconds; 0 = none */
    struct qt_jump jumps[QT_JUMPS]; /* jumps of the current batch */
    size_t n_jumps;
};

/* Copies the time zone from the options. Returns 0, or -1 when out of memory. */
int qt_local_clock_init(struct qt_local_clock *, const struct qt_log_options *);
void qt_local_clock_free(struct qt_local_clock *);
/* Converts the local time of an event with whole seconds to UTC. In an hour that occurs twice, the time that continues
 * from the previous event is used. Sets the event's `when_ns` and `is_local`. */
void qt_local_clock_set(struct qt_local_clock *, int64_t local_ns, struct qt_event_time *);
/* Records a jump of the local times at this row of the batch. The caller fills in the file, line and offset of the
 * jump. Returns NULL if there is no jump. */
struct qt_jump *qt_local_clock_note_jump(struct qt_local_clock *, const struct qt_event_time *, size_t row);
/* Reports the jumps that the clock caused, after the events of the batch have their times. */
void qt_local_clock_report_jumps(struct qt_local_clock *, const struct qt_event_time *, struct qt_problems *);

#endif
