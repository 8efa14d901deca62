/* SPDX-License-Identifier: Apache-2.0 */
/* Puts one way's segments in order and hands their bytes to the connection's decoder. All return QT_OK, QT_ENOMEM or
 * what the sink returned. */
#ifndef QT_TCP_ORDER_H
#define QT_TCP_ORDER_H

#include "packets/tcp_state.h"

/* Takes a segment: hands its bytes on, or holds a copy of what comes early. */
int qt_tcp_reassembly_take(struct qt_tcp *, struct qt_tcp_connection *, enum qt_way, const struct qt_segment *,
                           int64_t when_ns, int64_t packet);
/* Gives all holes up and hands on what is held behind them. */
int qt_tcp_reassembly_flush(struct qt_tcp *, struct qt_tcp_connection *);
/* Frees what is held of both ways. */
void qt_tcp_reassembly_drop(struct qt_tcp *, struct qt_tcp_connection *);

#endif
