/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns start times to the events of one batch: from what a log says to times that hold together. The parsing thread
 * calls it. */
#ifndef QT_TIMELINE_H
#define QT_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "reader/sessions.h"

enum qt_stamp_kind {
    QT_STAMP_SECOND = 0, /* when_ns is the second in which it ended */
    QT_STAMP_END = 1,    /* when_ns is its end, to the microsecond */
    QT_STAMP_START = 2,  /* when_ns is its start, to the microsecond; its end is start + duration */
    QT_STAMP_CARRIED = 3 /* it has no time of its own: it gets the start of the event behind it */
};

/* One event of a batch, in the order in which the log has them (the order of completion). */
struct qt_event_time {
    int64_t when_ns;
    int64_t duration_ns;     /* -1 = unknown; may be cut */
    int64_t start_ns;        /* the result */
    int64_t latest_ns;       /* scratch: the latest end that leaves room for what follows in its session */
    uint32_t entry;          /* index into sessions.entries */
    uint32_t flags;          /* QT_F_TIME_INFERRED, QT_F_DURATION_CUT, QT_F_CLOCK_GUESSED are added */
    uint8_t stamp_kind;      /* enum qt_stamp_kind: what when_ns is */
    uint8_t is_local;        /* its second is of a clock that may have changed between summer and winter time */
    uint8_t is_ambiguous;    /* a result: no other session shows that such a jump is not the clock's */
    uint8_t untrusted_clock; /* its session has set its own `timestamp`: its second may be anything */
};

/* The log's clock between batches. */
struct qt_timeline {
    int64_t clock_ns;    /* the last believable second; INT64_MIN before the first */
    int64_t last_end_ns; /* end given to the last event of whole seconds */
};

void qt_timeline_init(struct qt_timeline *);
/* Fills start_ns of all, and cuts durations that do not fit. A second should not be split over two batches. */
void qt_timeline_assign_start_times(struct qt_timeline *, struct qt_sessions *, struct qt_event_time *, size_t n);

#endif
