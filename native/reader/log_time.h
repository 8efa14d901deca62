/* SPDX-License-Identifier: Apache-2.0 */
/* The time stamps of MySQL's and MariaDB's text logs, and the clock of local ones. */
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

/* Where local times of a log go back, or pass over an hour. */
struct qt_jump {
    size_t row; /* of the batch */
    int64_t ahead_ns, file, line, offset;
};

enum { QT_JUMPS = 256 }; /* of a batch */

/* The clock of a log's local times: what they are in UTC, and where they jump. The parsing thread uses it. */
struct qt_local_clock {
    int64_t timezone_ns; /* of local times, where has_timezone */
    int has_timezone;
    int64_t *zone_from_ns, *zone_offset_ns; /* owned; of a zone whose offset changes */
    int32_t n_zone;
    int64_t utc_ns;                 /* of the last local time; 0 = none */
    int64_t last_second;            /* as the log has it, of the last event of whole seconds; 0 = none */
    struct qt_jump jumps[QT_JUMPS]; /* of the batch */
    size_t n_jumps;
};

/* Copies the zone of the options. 0, -1 = no memory. */
int qt_local_clock_init(struct qt_local_clock *, const struct qt_log_options *);
void qt_local_clock_free(struct qt_local_clock *);
/* A local time of an event of whole seconds in UTC: of an hour that comes twice, the one that follows the time before.
 * Sets the event's when_ns, and whether its clock is known. */
void qt_local_clock_set(struct qt_local_clock *, int64_t local_ns, struct qt_event_time *);
/* Notes a jump of the local times at the event that becomes this row of the batch. The caller fills its place in.
 * NULL = no jump. */
struct qt_jump *qt_local_clock_note_jump(struct qt_local_clock *, const struct qt_event_time *, size_t row);
/* Adds problems for the jumps that are the clock's, once the events of the batch have their times. */
void qt_local_clock_report_jumps(struct qt_local_clock *, const struct qt_event_time *, struct qt_problems *);

#endif
