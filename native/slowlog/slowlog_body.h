/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where the body of a slow-log event ends. */
#ifndef QT_SLOWLOG_BODY_H
#define QT_SLOWLOG_BODY_H

#include "slowlog/slowlog_header.h"

/* How literals and comments affect the end of a body. */
enum qt_slow_quotes {
    QT_QUOTES_TRUSTED = 0,  /* assumes that no possible end is inside a literal or comment */
    QT_QUOTES_FOLLOWED = 1, /* possible ends inside a literal or comment are skipped, for up to 256 KiB */
    QT_QUOTES_BROKEN = 2    /* a literal never closes: use the first possible end */
};

/* Finds the end of the body that begins at `p`. Sets out->body and the flags of the body's end. Returns the byte after
 * the newline of the body's last line. Returns NULL if more input is needed. */
const char *qt_slow_find_body_end(const char *p, const char *end, int at_end, enum qt_slow_quotes,
                                  struct qt_slow_event *out);

#endif
