/* SPDX-License-Identifier: Apache-2.0 */
/* What the statements that a session prepared as SQL text do: PREPARE name FROM '...'. Is an EXECUTE an INSERT? */
#ifndef QT_NAMED_STATEMENTS_H
#define QT_NAMED_STATEMENTS_H

#include "base/span.h"
#include "querytape.h"

#define QT_NAMED_ROOM 16

/* UPSERT: INSERT ... ON DUPLICATE KEY UPDATE. */
enum qt_named_kind { QT_NAMED_UNKNOWN = 0, QT_NAMED_INSERT = 1, QT_NAMED_OTHER = 2, QT_NAMED_UPSERT = 3 };

/* Of one session; zero at first. Names beyond the room replace the oldest. */
struct qt_named_statements {
    uint64_t name[QT_NAMED_ROOM]; /* hashes; 0 = free */
    uint8_t kind[QT_NAMED_ROOM];
    uint8_t next;
};

/* Whether an INSERT or REPLACE is one with ON DUPLICATE KEY UPDATE, or may be. */
int qt_is_upsert(struct qt_span text);
/* Keeps what each PREPARE of a text prepares, and returns what its first statement is: of an EXECUTE what it runs, of
 * anything else OTHER. */
enum qt_named_kind qt_named_follow(struct qt_named_statements *, struct qt_session_mode, struct qt_span text);

#endif
