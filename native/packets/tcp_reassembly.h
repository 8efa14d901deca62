/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the segments of one direction in order and passes their bytes to the connection's decoder. All functions return
 * QT_OK, QT_ENOMEM or the sink's error code. */
#ifndef QT_TCP_ORDER_H
#define QT_TCP_ORDER_H

#include "packets/tcp_state.h"

/* Takes a segment: passes its bytes to the decoder, or holds a copy of an early segment. */
int qt_tcp_reassembly_take(struct qt_tcp *, struct qt_tcp_connection *, enum qt_way, const struct qt_segment *,
                           int64_t when_ns, int64_t packet);
/* Gives up all missing bytes and delivers all held segments. */
int qt_tcp_reassembly_flush(struct qt_tcp *, struct qt_tcp_connection *);
/* Frees the held segments of both directions. */
void qt_tcp_reassembly_drop(struct qt_tcp *, struct qt_tcp_connection *);

#endif
