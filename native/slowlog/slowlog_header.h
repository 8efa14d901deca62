/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a slow-log event, and the parsers of its header lines. */
#ifndef QT_SLOWLOG_HEADER_H
#define QT_SLOWLOG_HEADER_H

#include <stdint.h>

#include "base/bytes.h"
#include "reader/log_time.h"

/* The fields of one event. A number is -1 if its line is missing, -2 if its text is not a number. */
struct qt_slow_event {
    struct qt_span time_text; /* text of `# Time:` */
    struct qt_logtime time;   /* kind BAD with time_text set: invalid time */
    struct qt_span user, host, address;
    struct qt_span schema; /* value of `Schema:`; p is NULL without the key, len is 0 if no schema is selected */
    struct qt_span use;    /* name in the `use` line before the body */
    struct qt_span body;   /* the statement without its `;`, or the name of an administrator command */
    int64_t thread_id;
    int64_t query_ns, lock_ns; /* -1 if missing, -2 if implausible */
    int64_t rows_sent, rows_examined, rows_affected, bytes_sent, warnings, errno_, killed;
    int64_t start_ns, end_ns; /* fields `Start:` and `End:` of log_slow_extra */
    int64_t timestamp_s, insert_id, last_insert_id;
    int64_t rate_limit;
    int rate_by_query;
    int is_admin;       /* the body is an administrator command */
    int in_routine;     /* has a `Stored_routine:` field */
    int truncated;      /* the file ended inside the body */
    int ambiguous;      /* a literal contains text that looks like further events */
    int unbalanced;     /* a quote never closes; the first possible end is used */
    int header_follows; /* the event ended at the header of another event */
    int unknown_line;   /* a header line without any known key */
};

/* Parses the `Key: value` pairs of one line, without `# ` and newline. */
void qt_slow_parse_attributes(const char *p, const char *end, struct qt_slow_event *out);
/* Parses the text after `# User@Host: `. Returns its end, or `p` if the text is invalid. */
const char *qt_slow_parse_user_host(const char *p, const char *end, struct qt_slow_event *out);

/* Parses the server's own SET line: `SET [last_insert_id=N,][insert_id=N,]timestamp=N[.ffffff];`. Returns 1 if the line
 * has exactly this form. The proxy dble writes milliseconds. */
int qt_slow_parse_set(const char *p, const char *end, struct qt_slow_event *);
/* Returns 1 if a header value other than Query_time is invalid. Query_time has its own problem kind. */
int qt_slow_has_bad_value(const struct qt_slow_event *);

#endif
