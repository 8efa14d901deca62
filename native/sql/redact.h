/* SPDX-License-Identifier: Apache-2.0 */
/* Redacts statements that hold passwords or keys. One thread at a time. */
#ifndef QT_REDACT_H
#define QT_REDACT_H

#include <stddef.h>

#include "sql/keywords.h"

#define QT_REDACTED_KEPT ((size_t)64 << 10)

struct qt_redacted {
    char *text; /* owned here */
    size_t len;
};

int qt_redacted_new(struct qt_redacted *); /* 0, or -1 when out of memory */
void qt_redacted_free(struct qt_redacted *);
/* Writes the statement with every literal replaced by '<redacted>' and without its comments: its first QT_REDACTED_KEPT
 * bytes, for it is not to be replayed. `open_quote` as the normaliser found it. */
void qt_redact(struct qt_redacted *, const struct qt_keywords *, const char *sql, size_t len, int open_quote);

#endif
