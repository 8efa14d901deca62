/* SPDX-License-Identifier: Apache-2.0 */
/* The ids that the INSERTs of one text of several statements generated. */
#ifndef QT_INSERT_IDS_H
#define QT_INSERT_IDS_H

#include "base/bytes.h"
#include "base/span.h"
#include "querytape.h"

/* Writes the tape's `insert_ids` of a text that its session read in this mode and whose results had these ids (8 bytes
 * each, little-endian; 0 = none), failed or not: "offset:id,..." of each INSERT that generated one. 1 = ids were
 * generated, and it cannot be told by which statement; 0 = all is told; -1 = out of memory. */
int qt_write_insert_ids(struct qt_bytes *out, struct qt_session_mode, struct qt_span text, struct qt_span results,
                        int failed);

#endif
