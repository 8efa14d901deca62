/* SPDX-License-Identifier: Apache-2.0 */
/* Texts as logs have them: the marks of a slow log's header, lines that other programs write into a log (an error log
 * on the same output, the names of files by `tail -F`), names of commands and accounts. */
#ifndef QT_LOG_TEXT_H
#define QT_LOG_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* What begins a line of a slow log's header. */
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

/* The mark at p; *len: its bytes, with the blank behind it. */
enum qt_header_mark qt_header_mark_at(const char *p, const char *end, size_t *len);

/* So much of a line tells whether it begins with a time. */
#define QT_TIME_BYTES 40

/* Does a line begin with a time, or is it `==> PATH <==` or another line of an error log or of a container's other
 * programs? No SQL does so outside of literals and comments. `len`: of the whole line, or QT_TIME_BYTES of it at
 * least. */
int qt_is_foreign_line(const char *p, size_t len);

/* Where in a statement's text, behind its first line, the line of a slow log's header or of a general log's row begins
 * with something else: another program has wrapped the log from there on. NULL: nowhere. */
const char *qt_find_wrapped_header(const char *p, size_t len);
const char *qt_find_wrapped_row(const char *p, size_t len);

/* Names that logs write: of commands, of accounts. */

int qt_span_is(struct qt_span, const char *text);
/* The tape's name of a command that a server's log writes as `Init DB`, `Close stmt`, ...; "other" where it has
 * none. */
const char *qt_find_command(struct qt_span name);
/* Replication, event scheduler, service accounts: not clients. */
int qt_is_system_user(struct qt_span user);
/* To tell accounts apart. */
uint64_t qt_hash_spans(struct qt_span a, struct qt_span b);

#endif
