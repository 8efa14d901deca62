/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes of a connection: detects PROXY headers, the X Protocol and connections without events. */
#ifndef QT_PROTOCOL_OPENING_H
#define QT_PROTOCOL_OPENING_H

#include "protocol/protocol_state.h"

/* Removes a PROXY header from the client's bytes before the greeting. The header may arrive in pieces. Held bytes are
 * put before the new bytes in `gathered`, and `rest` then points into `gathered`. The caller frees `gathered`. Returns
 * QT_OK or QT_ENOMEM. */
int qt_opening_take_proxy_header(struct qt_decoder *, struct qt_span *rest, struct qt_bytes *gathered);
/* Stores the first bytes of each direction. */
void qt_opening_note(struct qt_decoder *, enum qt_way, struct qt_span bytes, int64_t packet);
/* Reports a connection that ended without an event, unless that is normal. */
void qt_opening_report_silent(struct qt_decoder *);
/* Checks the first packet of a direction if it is not a MySQL packet. Returns 1 if it belongs to the X Protocol. Such a
 * connection is reported and not decoded further. */
int qt_opening_is_x(struct qt_decoder *, enum qt_way, const struct qt_piece *);
/* Detects the X Protocol by its port, for a connection joined in mid-stream. */
int qt_opening_is_x_midway(struct qt_decoder *);

#endif
