/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of commands that wait for their answers: clients may send several before the first is answered. The decoder
 * owns it. The functions that tell return QT_OK, QT_ENOMEM or what the sink returned. */
#ifndef QT_PROTOCOL_PENDING_H
#define QT_PROTOCOL_PENDING_H

#include "protocol/protocol_state.h"

/* Adds a command, still without its content; type -1 = the login. NULL when out of memory. */
struct qt_pending_command *qt_pending_push(struct qt_decoder *, int type, const struct qt_piece *);
/* Tells the event of the first command, and of those behind it that need no answer. */
int qt_pending_finish(struct qt_decoder *);
/* Tells all that wait, without an answer. */
int qt_pending_give_up(struct qt_decoder *);
/* Nothing more is understood: what waits is given up, and both ways are read again only from where a command begins. */
int qt_pending_lose(struct qt_decoder *);
int qt_pending_report_session(struct qt_decoder *);
void qt_pending_free(struct qt_decoder *);

#endif
