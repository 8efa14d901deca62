/* SPDX-License-Identifier: Apache-2.0 */
/* Recognizes texts in logs: marks of a slow log header, lines of other programs, names of commands and accounts. Lines
 * of other programs come, for example, from an error log on the same output. `tail -F` adds lines with file names. */
#ifndef QT_LOG_TEXT_H
#define QT_LOG_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Marks at the beginning of a slow log header's lines. */
enum qt_header_mark {
    QT_MARK_NONE,
    QT_MARK_TIME,
    QT_MARK_USER_HOST,
    QT_MARK_USER,
    QT_MARK_THREAD_ID,
    QT_MARK_SCHEMA,
    QT_MARK_CLIENT,
    QT_MARK_QUERY_TIME
};
#define QT_QUERY_TIME_MARK "# Query_time: "

/* Returns the mark at `p`. `*len` is its length in bytes, including the following blank. */
enum qt_header_mark qt_header_mark_at(const char *p, const char *end, size_t *len);

/* Number of leading bytes of a line that are needed to detect a time. */
#define QT_TIME_BYTES 40

/* Returns whether a line comes from another program. Such a line begins with a time or is `==> PATH <==`. It may also
 * be a line of an error log or of a container's program. SQL has no such lines outside of literals and comments. `len`
 * is the length of the line, or at least QT_TIME_BYTES of it. */
int qt_is_foreign_line(const char *p, size_t len);

/* Finds a wrapped log in a statement's text. A wrapped log is a line, but not the first line, with other text before a
 * log record. qt_find_wrapped_header looks for slow log headers, qt_find_wrapped_row for general log rows. Both return
 * the start of the line, or NULL. */
const char *qt_find_wrapped_header(const char *p, size_t len);
const char *qt_find_wrapped_row(const char *p, size_t len);

/* Names of commands and accounts in logs. */

int qt_span_is(struct qt_span, const char *text);
/* Returns the tape's name of a command. `name` is the name in logs, such as `Init DB` or `Close stmt`. Returns "other"
 * for an unknown name. */
const char *qt_find_command(struct qt_span name);
/* Returns whether the user is not a client: replication, event scheduler or a service account. */
int qt_is_system_user(struct qt_span user);
/* Returns a hash that distinguishes accounts. */
uint64_t qt_hash_spans(struct qt_span a, struct qt_span b);

#endif
