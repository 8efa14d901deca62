/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the header lines of a slow-log event, for the slow log's grammar. */
#ifndef QT_SLOWLOG_HEADER_H
#define QT_SLOWLOG_HEADER_H

#include "slowlog/slow_event.h"

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
