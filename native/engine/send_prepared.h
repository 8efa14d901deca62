/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about prepared statements of one connection, named by the tape's number for them: the server has ids of
 * its own.
 *
 * Parameters are sent as they are on the tape (schemas/params.md), so values reach the server byte for byte as the
 * original client's. Connector/C sends what it encodes itself; its table of methods, in its public header, sends raw
 * requests: all use of it is here. The connection's thread alone may call these; what they allocate belongs to the
 * connection.
 */
#ifndef QT_SEND_PREPARED_H
#define QT_SEND_PREPARED_H

#include "engine/connection_state.h"

/* Sends PREPARE and reads the answer. A statement of this number is replaced. Where the target answers that it prepares
 * no such statement (1295) and the original server did, the text is kept and each execution is sent as a query:
 * `answer` then has no error. */
void qt_connection_prepare(struct qt_connection *, int64_t number, const char *sql, size_t len, int failed_on_tape,
                           struct qt_answer *);
int qt_connection_is_prepared(struct qt_connection *, int64_t number);
int qt_connection_has_cursor(struct qt_connection *, int64_t number); /* its last execution left one open */

/* EXECUTE or bulk execute: `params` as on the tape, with QT_PARAMS_ROOM writable bytes before them. 0 = sent, now
 * wait and receive; 1 = the parameters don't fit the statement, nothing was sent; -1 = failed, `answer` says how. */
int qt_connection_send_execute(struct qt_connection *, int64_t number, char *params, size_t len, struct qt_answer *);
void qt_connection_receive_execute(struct qt_connection *, struct qt_answer *);

/* The statement is prepared; for fetch it has a cursor. 0, or 1 = not understood and not sent. */
int qt_connection_fetch(struct qt_connection *, int64_t number, const char *params, size_t len, struct qt_answer *);
int qt_connection_long_data(struct qt_connection *, int64_t number, char *params, size_t len, struct qt_answer *);
void qt_connection_reset_stmt(struct qt_connection *, int64_t number, struct qt_answer *);
void qt_connection_close_stmt(struct qt_connection *, int64_t number, struct qt_answer *);

#endif
