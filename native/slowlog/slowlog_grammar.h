/* SPDX-License-Identifier: Apache-2.0 */
/* Parses one slow-log event: header lines, `use`, SET, and where the body ends. Works on memory, keeps nothing:
 * spans point into the input. */
#ifndef QT_SLOWLOG_GRAMMAR_H
#define QT_SLOWLOG_GRAMMAR_H

#include "slowlog/slowlog_body.h"
#include "slowlog/slowlog_header.h"

enum qt_slow_result {
    QT_SLOW_EVENT = 1,  /* an event of *used bytes */
    QT_SLOW_MORE = 2,   /* cannot be decided without more input */
    QT_SLOW_SKIP = 3,   /* *used bytes that belong to no event: server header or blank lines */
    QT_SLOW_GARBAGE = 4 /* *used bytes that no grammar knows */
};

/* Reads what is at `p` (a line's start). `at_end` says that nothing follows `len`. For SKIP of a server header,
 * `banner` is its first line. Call it first with trusted quotes; where the body then turns out to end inside an open
 * literal, again with followed ones, and with broken ones where the literal never ends. `known`: the event before
 * ended here because a whole header was seen at `p` (out->header_follows), so it is not looked for again. */
enum qt_slow_result qt_slow_parse(const char *p, size_t len, int at_end, int known, enum qt_slow_quotes quotes,
                                  struct qt_slow_event *out, struct qt_span *banner, size_t *used);

#endif
