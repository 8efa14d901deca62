/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that have ended before the secrets of their TLS came: their decoders wait on. All return QT_OK, QT_ENOMEM
 * or what the sink returned. */
#ifndef QT_TCP_PARKED_H
#define QT_TCP_PARKED_H

#include "packets/tcp_state.h"

/* Takes the decoder of a connection over; it gets its end when its secrets have come, or too late. */
int qt_tcp_park(struct qt_tcp *, struct qt_tcp_connection *);
/* Ends those whose secrets have come, and those that have waited too long. */
int qt_tcp_parked_look(struct qt_tcp *, int64_t now_ns);
/* Ends all, with a last look for secrets. */
int qt_tcp_parked_end(struct qt_tcp *);
void qt_tcp_parked_free(struct qt_tcp *);

#endif
