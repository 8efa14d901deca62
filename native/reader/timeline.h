/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns consistent start times to the events of one batch, based on the times in the log. The parsing thread calls
 * the function. */
#ifndef QT_TIMELINE_H
#define QT_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "reader/sessions.h"

enum qt_stamp_kind {
    QT_STAMP_SECOND = 0, /* when_ns is the second in which the event ended */
    QT_STAMP_END = 1,    /* when_ns is the event's end, with microsecond precision */
    QT_STAMP_START = 2,  /* when_ns is the event's start, with microsecond precision; its end is start + duration */
    QT_STAMP_CARRIED = 3 /* no own time: the event gets the start of the next event */
};

/* One event of a batch, in the log's order, which is the order of completion. */
struct qt_event_time {
    int64_t when_ns;
    int64_t duration_ns;     /* -1 = unknown; may be reduced */
    int64_t start_ns;        /* result: the assigned start */
    int64_t latest_ns;       /* scratch: latest end that leaves room for later events of the session */
    uint32_t entry;          /* index into sessions.entries */
    uint32_t flags;          /* QT_F_TIME_INFERRED, QT_F_DURATION_CUT, QT_F_CLOCK_GUESSED are added */
    uint8_t stamp_kind;      /* enum qt_stamp_kind: the meaning of when_ns */
    uint8_t is_local;        /* the time comes from a local clock that may switch to or from daylight saving time */
    uint8_t is_ambiguous;    /* result: other sessions cannot rule out a jump of the clock at this event */
    uint8_t untrusted_clock; /* the session has set its own `timestamp`: its seconds are unreliable */
};

/* The log's clock, kept between batches. */
struct qt_timeline {
    int64_t clock_ns;    /* last accepted second; INT64_MIN = none yet */
    int64_t last_end_ns; /* assigned end of the last event with whole seconds */
};

void qt_timeline_init(struct qt_timeline *);
/* Fills `start_ns` of all events and cuts durations that do not fit. All events of one second should be in the same
 * batch. */
void qt_timeline_assign_start_times(struct qt_timeline *, struct qt_sessions *, struct qt_event_time *, size_t n);

#endif
