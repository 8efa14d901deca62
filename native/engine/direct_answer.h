/* SPDX-License-Identifier: Apache-2.0 */
/* The fastest way to receive the answer to a statement: one blocking read of the socket. The packets are counted in the
 * read buffer. */
#ifndef QT_DIRECT_ANSWER_H
#define QT_DIRECT_ANSWER_H

#include "engine/connection_state.h"

enum { QT_DIRECT_WAIT_MS = 500 }; /* longest time to block in one read */

/* Enables qt_direct_receive on an open connection until it is closed (connection.c). Does nothing if the connection
 * uses TLS or compression. */
void qt_direct_allow(struct qt_connection *);
/* Waits for the answer and receives it, directly or through the library. Returns 0 if nothing arrived in
 * QT_DIRECT_WAIT_MS. */
int qt_direct_receive(struct qt_connection *, struct qt_answer *);

#endif
