/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the server's packets after the login: the reply to the first pending command. */
#ifndef QT_SERVER_REPLIES_H
#define QT_SERVER_REPLIES_H

#include "protocol/protocol_state.h"

/* Takes one packet of the server. Returns QT_OK, QT_ENOMEM or the sink's error code. */
int qt_replies_take(struct qt_decoder *, const struct qt_piece *);
/* Reads an OK packet into the command's reply. Returns 0, or -1 if the packet is damaged. */
int qt_reply_read_ok(const struct qt_decoder *, struct qt_pending_command *, const uint8_t *p, size_t n,
                     unsigned *status);
/* Reads an ERR packet. Only the first error of a reply is kept. */
void qt_reply_read_err(struct qt_pending_command *, const uint8_t *p, size_t n);

#endif
