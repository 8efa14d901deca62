/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the client's packets after the login: the commands, in the order of sending. */
#ifndef QT_CLIENT_COMMANDS_H
#define QT_CLIENT_COMMANDS_H

#include "protocol/protocol_state.h"

/* Takes one packet of the client. Returns QT_OK, QT_ENOMEM or the sink's error code. */
int qt_commands_take(struct qt_decoder *, const struct qt_piece *);

#endif
