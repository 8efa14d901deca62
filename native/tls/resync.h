/* SPDX-License-Identifier: Apache-2.0 */
/* Finds, behind a gap, the next record: where one may begin, and which sequence number it has. */
#ifndef QT_TLS_RESYNC_H
#define QT_TLS_RESYNC_H

#include "tls/tls_state.h"

/* Looks through bytes of a way that is lost. Returns how many of them are done with: up to the end of the record that
 * was found (the way is not lost any more, its content told), or up to where a record may begin that is not whole yet.
 * May set t->end. *code: QT_OK, QT_ENOMEM or what the sink returned. */
size_t qt_tls_find_back(struct qt_tls *, int way, const struct qt_tls_plain *bytes, int *code);

#endif
