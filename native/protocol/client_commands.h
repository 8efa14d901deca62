/* SPDX-License-Identifier: Apache-2.0 */
/* The client's packets once the login is over: commands, in the order of asking. */
#ifndef QT_CLIENT_COMMANDS_H
#define QT_CLIENT_COMMANDS_H

#include "protocol/protocol_state.h"

/* Takes one packet of the client. QT_OK, QT_ENOMEM or what the sink returned. */
int qt_commands_take(struct qt_decoder *, const struct qt_piece *);

#endif
