/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where the body of a slow-log event ends. */
#ifndef QT_SLOWLOG_BODY_H
#define QT_SLOWLOG_BODY_H

#include "slowlog/slowlog_header.h"

/* What literals and comments mean for the end of a body. */
enum qt_slow_quotes {
    QT_QUOTES_TRUSTED = 0,  /* no place behind a semicolon is inside of one */
    QT_QUOTES_FOLLOWED = 1, /* places inside of one are skipped, as far as 256 KiB */
    QT_QUOTES_BROKEN = 2    /* one never closes: the first place is the end */
};

/* Finds where the body that begins at `p` ends: sets out->body and what is known of its end. Returns the byte behind
 * the newline of its last line, where the next event or what belongs to none begins; NULL where more input tells. */
const char *qt_slow_find_body_end(const char *p, const char *end, int at_end, enum qt_slow_quotes,
                                  struct qt_slow_event *out);

#endif
