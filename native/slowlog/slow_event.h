/* SPDX-License-Identifier: Apache-2.0 */
/* One event of a slow log as its lines say it: what the grammar fills. */
#ifndef QT_SLOW_EVENT_H
#define QT_SLOW_EVENT_H

#include <stdint.h>

#include "base/span.h"
#include "reader/logtime.h"

/* What the lines of one event say. Numbers are -1 where their line is absent, -2 where it has no number. */
struct qt_slow_event {
    struct qt_span time_text; /* of `# Time:` */
    struct qt_logtime time;   /* kind BAD with time_text present: not understood */
    struct qt_span user, host, address;
    struct qt_span schema; /* of `Schema:`, p NULL = no such key, len 0 = none selected */
    struct qt_span use;    /* of the `use` line before the body */
    struct qt_span body;   /* the statement without its `;`, or the administrator command's name */
    int64_t thread_id;
    int64_t query_ns, lock_ns; /* -1 = absent, -2 = not believable */
    int64_t rows_sent, rows_examined, rows_affected, bytes_sent, warnings, errno_, killed;
    int64_t start_ns, end_ns; /* log_slow_extra's Start: and End: */
    int64_t timestamp_s, insert_id, last_insert_id;
    int64_t rate_limit;
    int rate_by_query;
    int is_admin;       /* body is an administrator command */
    int in_routine;     /* `Stored_routine:` */
    int truncated;      /* the file ended inside the body */
    int ambiguous;      /* a literal holds what looks like further events */
    int unbalanced;     /* a quote never closes: the first possible end was taken */
    int header_follows; /* the event ended because another one's header follows */
    int unknown_line;   /* a header line with nothing known in it */
};

#endif
