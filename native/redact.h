/* SPDX-License-Identifier: Apache-2.0 */
/* Statements without what they hide. Private to the native part. */
#ifndef QT_REDACT_H
#define QT_REDACT_H

#include <stddef.h>

struct qt_redacted {
    char *text; /* owned here; NULL before the first use */
    size_t len, room;
};

/* Writes the statement with every string and hex literal replaced by '<redacted>' and without its comments. 0, or -1. */
int qt_redact(struct qt_redacted *, const char *sql, size_t len);
void qt_redacted_free(struct qt_redacted *);

#endif
