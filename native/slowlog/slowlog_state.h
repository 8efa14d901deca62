/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of slow logs, between slowlog.c (life), slowlog_events.c (one event after the other) and slowlog_context.c
 * (what an event means in its place). */
#ifndef QT_SLOWLOG_STATE_H
#define QT_SLOWLOG_STATE_H

#include "base/bytes.h"
#include "reader/log.h"

#define QT_ZONES 121 /* quarters of an hour from -15:00 to +15:00 */

struct qt_slowlog {
    struct qt_log log;
    int header_known; /* a whole header is at buffer[begin] */
    int skipping;     /* inside bytes that no grammar knows: reported once */

    /* what one event leaves to the next */
    struct qt_logtime time; /* of the last `# Time:` understood */
    int has_use;
    struct qt_bytes use; /* the last `use` line: log-wide until the next server header */
    int pending_restart; /* a server header was seen: an event that follows tells what it was */
    uint64_t header_at;  /* the number of the event behind it */
    int other_version;   /* that header names another version than the one before */
    int after_flush;     /* the last event was a FLUSH that writes a new header */
    int said_no_thread;

    _Atomic uint32_t zones[QT_ZONES]; /* how often local time less UTC was so many quarters */
    _Atomic uint64_t restarts;
    _Atomic int32_t rate_limit, rate_by_query, has_extra;
};

#endif
