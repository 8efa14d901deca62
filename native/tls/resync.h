/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the next record after missing bytes: its position and its sequence number. */
#ifndef QT_TLS_RESYNC_H
#define QT_TLS_RESYNC_H

#include "tls/tls_state.h"

/* Searches the bytes of a direction that is lost. Returns the number of consumed bytes. If a record is found, the
 * consumed bytes end with this record. Its content then goes to the sink, and the direction is no longer lost.
 * Otherwise the consumed bytes end before a possible record that is incomplete. May set t->end. *code is QT_OK,
 * QT_ENOMEM or the sink's return value. */
size_t qt_tls_find_back(struct qt_tls *, int way, const struct qt_tls_plain *bytes, int *code);

#endif
