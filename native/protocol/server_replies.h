/* SPDX-License-Identifier: Apache-2.0 */
/* The server's packets once the login is over: the answer of the first command that waits. */
#ifndef QT_SERVER_REPLIES_H
#define QT_SERVER_REPLIES_H

#include "protocol/protocol_state.h"

/* Takes one packet of the server. QT_OK, QT_ENOMEM or what the sink returned. */
int qt_replies_take(struct qt_decoder *, const struct qt_piece *);
/* Reads an OK packet into the command's answer. 0, or -1 where it is damaged. */
int qt_reply_read_ok(const struct qt_decoder *, struct qt_pending_command *, const uint8_t *p, size_t n,
                     unsigned *status);
/* Reads an ERR packet: the first error of an answer counts. */
void qt_reply_read_err(struct qt_pending_command *, const uint8_t *p, size_t n);

#endif
