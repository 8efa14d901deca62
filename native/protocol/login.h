/* SPDX-License-Identifier: Apache-2.0 */
/* The connection until the server has answered the login: greeting, response, authentication. */
#ifndef QT_PROTOCOL_LOGIN_H
#define QT_PROTOCOL_LOGIN_H

#include "protocol/protocol_state.h"

/* Takes a packet of a phase before PHASE_COMMAND; tells the `connect` event. QT_OK, QT_ENOMEM or what the sink
 * returned. */
int qt_login_take(struct qt_decoder *, enum qt_way, const struct qt_piece *);
#endif
