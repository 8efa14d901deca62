/* SPDX-License-Identifier: Apache-2.0 */
/* The login phase of a connection: greeting, client's response, authentication, server's answer. */
#ifndef QT_PROTOCOL_LOGIN_H
#define QT_PROTOCOL_LOGIN_H

#include "protocol/protocol_state.h"

/* Takes a packet of a phase before PHASE_COMMAND, and reports the `connect` event. Returns QT_OK, QT_ENOMEM or the
 * sink's error code. */
int qt_login_take(struct qt_decoder *, enum qt_way, const struct qt_piece *);
#endif
