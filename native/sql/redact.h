/* SPDX-License-Identifier: Apache-2.0 */
/* Redacts statements that contain passwords or keys. One thread at a time. */
#ifndef QT_REDACT_H
#define QT_REDACT_H

#include <stddef.h>

#include "querytape.h"
#include "sql/lexer.h"

#define QT_REDACTED_KEPT ((size_t)64 << 10)

struct qt_redacted {
    char *text; /* owned */
    size_t len;
};

int qt_redacted_new(struct qt_redacted *); /* 0, or -1 when out of memory */
void qt_redacted_free(struct qt_redacted *);
/* Writes the statement without comments and with every literal replaced by '<redacted>'. Only the first
 * QT_REDACTED_KEPT bytes are written, because the text is not for replay.
 *
 * The text ends where the possible readings of a session in this mode differ. `first`: the lexer that has read the
 * statement once. */
void qt_redact(struct qt_redacted *, const struct qt_lexer *first, struct qt_session_mode, const char *sql, size_t len);

#endif
