/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of commands that wait for their replies. Clients may send several commands before the first reply. The
 * decoder owns the queue. The functions that report events return QT_OK, QT_ENOMEM or the sink's error code. */
#ifndef QT_PROTOCOL_PENDING_H
#define QT_PROTOCOL_PENDING_H

#include "protocol/protocol_state.h"

/* Adds a command without its content. `type` -1 is the login. Returns NULL when out of memory. */
struct qt_pending_command *qt_pending_push(struct qt_decoder *, int type, const struct qt_piece *);
/* Reports the event of the first command, and the events of following commands that need no reply. */
int qt_pending_finish(struct qt_decoder *);
/* Reports all pending commands as commands without a reply. */
int qt_pending_give_up(struct qt_decoder *);
/* Handles the loss of synchronization: gives up all pending commands. Both directions are then decoded again from the
 * next recognizable command on. */
int qt_pending_lose(struct qt_decoder *);
int qt_pending_report_session(struct qt_decoder *);
void qt_pending_free(struct qt_decoder *);

#endif
