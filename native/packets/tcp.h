/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks TCP connections and reassembles their byte streams from segments.
 *
 * In-order payload goes to the decoder directly from the capture's buffer. An early segment is held as a copy until the
 * missing bytes before it arrive. Held bytes are limited per connection and in total. If the missing bytes are lost,
 * the decoder is informed of their number.
 *
 * Repeated bytes are dropped, for example retransmissions or packets captured twice on `any` or `lo`. If segments
 * overlap, the first copy of each byte counts. */
#ifndef QT_TCP_H
#define QT_TCP_H

#include "packets/frame.h"
#include "packets/tcp_state.h"
#include "protocol/decoded.h"

struct qt_tcp;

/* Copies the options and the sink. Returns NULL when out of memory. The caller frees the result with qt_tcp_free. Only
 * one thread may use the result at a time. */
struct qt_tcp *qt_tcp_new(const struct qt_tcp_options *, const struct qt_decoder_sink *);
/* Returns whether the port is one of the followed server ports. */
int qt_tcp_is_server(const struct qt_tcp *, uint16_t port);
/* Takes one segment. Copies its payload if the payload is needed later. Returns QT_OK, QT_ENOMEM or the sink's error
 * code. */
int qt_tcp_take(struct qt_tcp *, const struct qt_segment *, int64_t when_ns, int64_t packet);
/* Checks for TLS secrets that open or ended connections still need. The caller calls this function about once per
 * second. */
int qt_tcp_check_secrets(struct qt_tcp *, int64_t now_ns);
/* Ends the capture: gives up missing bytes and ends all decoders. */
int qt_tcp_end(struct qt_tcp *);
void qt_tcp_count(const struct qt_tcp *, struct qt_tcp_counts *out);
void qt_tcp_free(struct qt_tcp *);

/* Parked connections: they have ended, but their decoders still wait for TLS secrets. All functions return QT_OK,
 * QT_ENOMEM or the sink's error code. */

/* Takes over the decoder of a connection. The decoder is ended when its secrets arrive or its waiting time is over. If
 * too many decoders wait, the oldest decoder is ended. */
int qt_tcp_park(struct qt_tcp *, struct qt_tcp_connection *);
/* Ends the parked connections whose secrets have arrived or whose waiting time is over. */
int qt_tcp_parked_check_secrets(struct qt_tcp *, int64_t now_ns);
/* Ends all parked connections after a last check for their TLS secrets. */
int qt_tcp_parked_end(struct qt_tcp *);
void qt_tcp_parked_free(struct qt_tcp *);

#endif
