/* SPDX-License-Identifier: Apache-2.0 */
/* The ids that the INSERTs of one text of several statements generated. */
#ifndef QT_INSERT_IDS_H
#define QT_INSERT_IDS_H

#include "base/bytes.h"
#include "querytape.h"

/* Writes the tape's `insert_ids` of a text that its session read in this mode and whose results had these ids (8 bytes
 * each, little-endian; 0 = none), failed or not: "offset:id,..." of each INSERT that generated one. 1 = ids were
 * generated, and it cannot be told by which statement; 0 = all is told; -1 = out of memory. */
int qt_write_insert_ids(struct qt_bytes *out, struct qt_session_mode, struct qt_span text, struct qt_span results,
                        int failed);

/* What the statements that a session prepared as SQL text do: PREPARE name FROM '...'. Is an EXECUTE an INSERT? */

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
