/* SPDX-License-Identifier: Apache-2.0 */
/* Redacts statements that hold passwords or keys. One thread at a time. */
#ifndef QT_REDACT_H
#define QT_REDACT_H

#include <stddef.h>

#include "querytape.h"
#include "sql/lexer.h"

#define QT_REDACTED_KEPT ((size_t)64 << 10)

struct qt_redacted {
    char *text; /* owned here */
    size_t len;
};

int qt_redacted_new(struct qt_redacted *); /* 0, or -1 when out of memory */
void qt_redacted_free(struct qt_redacted *);
/* Writes the statement with every literal replaced by '<redacted>' and without its comments: its first QT_REDACTED_KEPT
 * bytes, for it is not to be replayed. It ends where ways in which a session of this mode may read it part. `first`:
 * the lexer that read it once. */
void qt_redact(struct qt_redacted *, const struct qt_lexer *first, struct qt_session_mode, const char *sql, size_t len);

#endif
