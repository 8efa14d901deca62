/* SPDX-License-Identifier: Apache-2.0 */
/* Parses one slow-log event: header lines, `use`, SET, and the end of the body. Works in memory and keeps no state.
 * Spans point into the input. */
#ifndef QT_SLOWLOG_GRAMMAR_H
#define QT_SLOWLOG_GRAMMAR_H

#include "slowlog/slowlog_body.h"
#include "slowlog/slowlog_header.h"

enum qt_slow_result {
    QT_SLOW_EVENT = 1,  /* an event; *used is its length */
    QT_SLOW_MORE = 2,   /* more input is needed */
    QT_SLOW_SKIP = 3,   /* *used bytes between events: server header or blank lines */
    QT_SLOW_GARBAGE = 4 /* *used bytes of unknown content */
};

/* Parses the item at `p`, which is the start of a line. `at_end`: the input ends after `len` bytes. For SKIP of a
 * server header, `banner` is the header's first line.
 *
 * Call it first with QT_QUOTES_TRUSTED. If the body then ends inside an open literal, call it with QT_QUOTES_FOLLOWED.
 * If that literal never closes, call it with QT_QUOTES_BROKEN.
 *
 * `known`: the previous event ended because a complete header was found at `p` (out->header_follows). The header is
 * then not searched again. */
enum qt_slow_result qt_slow_parse(const char *p, size_t len, int at_end, int known, enum qt_slow_quotes quotes,
                                  struct qt_slow_event *out, struct qt_span *banner, size_t *used);

#endif
