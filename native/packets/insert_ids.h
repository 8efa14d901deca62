/* SPDX-License-Identifier: Apache-2.0 */
/* The ids that the INSERTs of a multi-statement text generated. */
#ifndef QT_INSERT_IDS_H
#define QT_INSERT_IDS_H

#include "base/bytes.h"
#include "querytape.h"

/* Writes the tape's `insert_ids` of a multi-statement text: "offset:id,..." of each INSERT that generated an id.
 * `results` contains the id of each result, 8 bytes each, little-endian, 0 = none. `failed`: the last statement failed.
 * Returns 0 if each id was assigned to its statement, 1 if ids cannot be assigned, -1 when out of memory. */
int qt_write_insert_ids(struct qt_bytes *out, struct qt_session_mode, struct qt_span text, struct qt_span results,
                        int failed);

/* Tracks the statements that a session prepares as SQL text (PREPARE name FROM '...'). They show whether an EXECUTE is
 * an INSERT. */

#define QT_NAMED_ROOM 16

/* UPSERT = INSERT ... ON DUPLICATE KEY UPDATE. */
enum qt_named_kind { QT_NAMED_UNKNOWN = 0, QT_NAMED_INSERT = 1, QT_NAMED_OTHER = 2, QT_NAMED_UPSERT = 3 };

/* The named statements of one session. The struct must be zeroed before its first use. If the table is full, a new name
 * replaces the oldest name. */
struct qt_named_statements {
    uint64_t name[QT_NAMED_ROOM]; /* hashes of the names; 0 = free */
    uint8_t kind[QT_NAMED_ROOM];
    uint8_t next;
};

/* Returns whether an INSERT or REPLACE has, or may have, an ON DUPLICATE KEY UPDATE clause. */
int qt_is_upsert(struct qt_span text);
/* Stores the kind of each statement that the text prepares. Returns the kind of the text's first statement. For an
 * EXECUTE, this is the kind of the executed statement. For all other statements, it is QT_NAMED_OTHER. */
enum qt_named_kind qt_named_follow(struct qt_named_statements *, struct qt_session_mode, struct qt_span text);

#endif
