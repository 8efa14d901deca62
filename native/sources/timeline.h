/* SPDX-License-Identifier: Apache-2.0 */
/* When the events of one batch began: from what a log says to start times that hold together. */
#ifndef QT_TIMELINE_H
#define QT_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "sessions.h"

enum qt_stamp {
    QT_STAMP_SECOND = 0, /* when_ns is the second in which it ended */
    QT_STAMP_END = 1,    /* when_ns is its end, to the microsecond */
    QT_STAMP_START = 2   /* when_ns is its start, to the microsecond; its end is start + duration */
};

/* One event of a batch, in the order in which the log has them (the order of completion). */
struct qt_moment {
    int64_t when_ns;
    int64_t duration_ns;  /* -1 = unknown; may be cut */
    int64_t start_ns;     /* the result */
    int64_t latest_ns;    /* scratch: the latest end that leaves room for what follows in its session */
    uint32_t entry;       /* index into sessions.entries */
    uint32_t flags;       /* QT_F_TIME_INFERRED, QT_F_DURATION_CUT, QT_F_CLOCK_GUESSED are added */
    uint8_t stamp;        /* enum qt_stamp */
    uint8_t doubtful;     /* its session has set its own `timestamp`: its second may be anything */
};

/* The log's clock between batches. */
struct qt_timeline {
    int64_t clock_ns; /* the last believable second; INT64_MIN before the first */
    int64_t last_end_ns; /* end given to the last event of whole seconds */
};

void qt_timeline_init(struct qt_timeline *);
/* Fills start_ns of all. A second should not be split over two batches. */
void qt_timeline_lay(struct qt_timeline *, struct qt_sessions *, struct qt_moment *, size_t n);

#endif
