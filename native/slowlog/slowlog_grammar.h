/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of one slow-log event: header lines, `use`, SET, and where the body ends. Works on memory, keeps nothing. */
#ifndef QT_SLOWLOG_GRAMMAR_H
#define QT_SLOWLOG_GRAMMAR_H

#include <stddef.h>
#include <stdint.h>

#include "logtime.h"
#include "span.h"

/* What the lines of one event say. Numbers are -1 where their line is absent. */
struct qt_slow_event {
    struct qt_span time_text;    /* of `# Time:` */
    struct qt_logtime time;      /* kind BAD with time_text present: not understood */
    struct qt_span user, host, address;
    struct qt_span schema;       /* of `Schema:`, p NULL = no such key, len 0 = none selected */
    struct qt_span use;          /* of the `use` line before the body */
    struct qt_span body;         /* the statement without its `;`, or the administrator command's name */
    int64_t thread_id;
    int64_t query_ns, lock_ns;   /* -1 = absent, -2 = not believable */
    int64_t rows_sent, rows_examined, rows_affected, bytes_sent, warnings, errno_, killed;
    int64_t start_ns, end_ns;    /* log_slow_extra's Start: and End: */
    int64_t timestamp_s, insert_id, last_insert_id;
    int64_t rate_limit;
    int rate_by_query;
    int is_admin;                /* body is an administrator command */
    int in_routine;              /* `Stored_routine:` */
    int truncated;               /* the file ended inside the body */
    int ambiguous;               /* a literal holds what looks like further events */
    int unbalanced;              /* a quote never closes: the first possible end was taken */
    int header_follows;          /* the event ended because another one's header stands behind it */
    int unknown_line;            /* a header line with nothing known in it */
};

enum qt_slow_result {
    QT_SLOW_EVENT = 1,   /* an event of *used bytes */
    QT_SLOW_MORE = 2,    /* cannot be decided without more input */
    QT_SLOW_SKIP = 3,    /* *used bytes that belong to no event: server header or blank lines */
    QT_SLOW_GARBAGE = 4  /* *used bytes that no grammar knows */
};

/* Reads what stands at `p` (a line's start). `at_end` says that nothing follows `len`. For SKIP of a server header,
 * `banner` is its first line. Call it first with check_quotes 0; where the body then turns out to end inside an open literal,
 * again with 1, which follows the literal to its end. `known`: the event before ended here because a whole header was seen
 * at `p` (out->header_follows), so it is not looked for again. */
enum qt_slow_result qt_slow_parse(const char *p, size_t len, int at_end, int known, int check_quotes, struct qt_slow_event *out,
                                  struct qt_span *banner, size_t *used);

#endif
