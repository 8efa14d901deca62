/* SPDX-License-Identifier: Apache-2.0 */
/* Connections and their byte streams, put together again from segments.
 *
 * In-order payload goes to the decoder straight from the capture's buffer. What comes early is held (a copy, bounded
 * for each connection and in all) until the hole before it is filled, or until it is known that it never will be: then
 * the decoder is told of a gap. What comes twice (retransmitted, captured twice on `any` or `lo`) is dropped; of
 * overlapping bytes the first copy counts.
 */
#ifndef QT_TCP_H
#define QT_TCP_H

#include "packets/frame.h"
#include "packets/tcp_state.h"
#include "protocol/decoded.h"

struct qt_tcp;

/* Takes options and sink over as copies; free it with qt_tcp_free. NULL when out of memory. One thread at a time. */
struct qt_tcp *qt_tcp_new(const struct qt_tcp_options *, const struct qt_decoder_sink *);
/* Is it one of the ports that are followed? */
int qt_tcp_is_server(const struct qt_tcp *, uint16_t port);
/* Takes one segment; its payload is copied where it is kept. QT_OK, QT_ENOMEM or what the sink returned. */
int qt_tcp_take(struct qt_tcp *, const struct qt_segment *, int64_t when_ns, int64_t packet);
/* Connections that wait for the secrets of their TLS, open ones and ended ones: have they come? Once a second or so. */
int qt_tcp_check_secrets(struct qt_tcp *, int64_t now_ns);
/* The end of the capture: held segments are given up, decoders told. */
int qt_tcp_end(struct qt_tcp *);
void qt_tcp_count(const struct qt_tcp *, struct qt_tcp_counts *out);
void qt_tcp_free(struct qt_tcp *);

/* Connections that have ended before the secrets of their TLS came: their decoders wait on. All return QT_OK, QT_ENOMEM
 * or what the sink returned. */

/* Takes the decoder of a connection over; it gets its end when its secrets have come, or too late. */
int qt_tcp_park(struct qt_tcp *, struct qt_tcp_connection *);
/* Ends those whose secrets have come, and those that have waited too long. */
int qt_tcp_parked_check_secrets(struct qt_tcp *, int64_t now_ns);
/* Ends all, with a last look for secrets. */
int qt_tcp_parked_end(struct qt_tcp *);
void qt_tcp_parked_free(struct qt_tcp *);

#endif
