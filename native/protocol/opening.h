/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes of a connection: a PROXY header, and what they show where no event comes. */
#ifndef QT_PROTOCOL_OPENING_H
#define QT_PROTOCOL_OPENING_H

#include "protocol/protocol_state.h"

/* Before the greeting: takes a PROXY header off the client's bytes, also one in pieces. What was held back and is none
 * goes into `gathered`, of which `rest` is then a part; the caller frees it. QT_OK or QT_ENOMEM. */
int qt_opening_take_proxy_header(struct qt_decoder *, struct qt_span *rest, struct qt_bytes *gathered);
/* Keeps the first bytes of each way. */
void qt_opening_note(struct qt_decoder *, enum qt_way, struct qt_span bytes, int64_t packet);
/* At the end of a connection without an event: was it one that should have some? */
void qt_opening_report_silent(struct qt_decoder *);
/* The first packet of a way that cannot be MySQL's: 1 = it is the X protocol's, as is told; nothing more is read. */
int qt_opening_is_x(struct qt_decoder *, enum qt_way, const struct qt_piece *);
/* The same of a connection whose begin was not seen: by its port. */
int qt_opening_is_x_midway(struct qt_decoder *);

#endif
