/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest way of an answer to a text: one blocking read of the socket, and its packets counted where they lie. */
#ifndef QT_DIRECT_ANSWER_H
#define QT_DIRECT_ANSWER_H

#include "engine/connection_state.h"

enum { QT_DIRECT_WAIT_MS = 500 }; /* longer than this nobody waits inside */

/* The connection is open: allows the short way where its bytes come as they are, without TLS and compression, until it
 * is closed (connection.c). */
void qt_direct_allow(struct qt_connection *);
/* Waits for the answer and receives it, by itself or through the library. 0 = nothing came in QT_DIRECT_WAIT_MS. */
int qt_direct_receive(struct qt_connection *, struct qt_answer *);

#endif
