/* SPDX-License-Identifier: Apache-2.0 */
/* What the lines of a slow-log event say, and the parsers of its header's lines, for the slow log's grammar. */
#ifndef QT_SLOWLOG_HEADER_H
#define QT_SLOWLOG_HEADER_H

#include <stdint.h>

#include "base/bytes.h"
#include "reader/log_time.h"

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

/* Reads `Key: value` pairs of one line (without its `# ` and its newline). */
void qt_slow_parse_attributes(const char *p, const char *end, struct qt_slow_event *out);
/* Reads what follows `# User@Host: `; returns where it ends, `p` itself where it is not understood. */
const char *qt_slow_parse_user_host(const char *p, const char *end, struct qt_slow_event *out);

/* The server's own SET line: `SET [last_insert_id=N,][insert_id=N,]timestamp=N[.ffffff];` and nothing else; is it one?
 * dble writes milliseconds. */
int qt_slow_parse_set(const char *p, const char *end, struct qt_slow_event *);
/* Has the header a value that could not be read? Query_time has a problem of its own. */
int qt_slow_has_bad_value(const struct qt_slow_event *);

#endif
