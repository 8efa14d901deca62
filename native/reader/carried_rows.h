/* SPDX-License-Identifier: Apache-2.0 */
/* The events that bring a replayed session into the state that its original had when the capture began. */
#ifndef QT_CARRIED_ROWS_H
#define QT_CARRIED_ROWS_H

#include "reader/reader.h"

/* Adds a row for each statement of `open` that belongs on this kind of tape: those prepared in the protocol only where
 * `prepared`. `like`: account, schema, place and start of these rows; its seq is that of the last row, and stays so.
 * `time`: as in qt_event_batch_add. QT_OK or a code. */
int qt_carried_rows_add(struct qt_reader *, const struct qt_open_session *open, int prepared, struct qt_event_row *like,
                        const struct qt_event_time *time);

#endif
