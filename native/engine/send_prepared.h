/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about the prepared statements of one connection. Statements are identified by their number on the tape,
 * because the server assigns its own ids.
 *
 * Parameters are sent as they are on the tape (schemas/params.md). Their values therefore reach the server byte for
 * byte as sent by the original client. Connector/C can only send values that it encodes itself. Its table of methods,
 * which is part of a public header, sends raw requests. Only this file uses that table for sending. Only the
 * connection's thread may call these functions. The connection owns the memory that they allocate. */
#ifndef QT_SEND_PREPARED_H
#define QT_SEND_PREPARED_H

#include "engine/connection_state.h"

/* Sends PREPARE and reads the answer. Replaces a statement with the same number. If the target cannot prepare the
 * statement (error 1295) but the original server could, the text is kept. Each execution is then sent as a query, and
 * `answer` has no error. */
void qt_connection_prepare(struct qt_connection *, int64_t number, const char *sql, size_t len, int failed_on_tape,
                           struct qt_answer *);
int qt_connection_is_prepared(struct qt_connection *, int64_t number);
int qt_connection_has_cursor(struct qt_connection *, int64_t number); /* whether the statement has an open cursor */

/* Sends EXECUTE or bulk execute. `params` is in tape format, with QT_PARAMS_ROOM writable bytes before it. Returns 0 if
 * the request was sent: then wait and receive. Returns 1 if the parameters do not fit: nothing was sent. Returns -1 on
 * failure: `answer` contains the error. */
int qt_connection_send_execute(struct qt_connection *, int64_t number, char *params, size_t len, struct qt_answer *);
void qt_connection_receive_execute(struct qt_connection *, struct qt_answer *);

/* The statement must be prepared. A fetch also needs an open cursor. Returns 0, or 1 if the params are invalid and
 * nothing was sent. */
int qt_connection_fetch(struct qt_connection *, int64_t number, const char *params, size_t len, struct qt_answer *);
int qt_connection_long_data(struct qt_connection *, int64_t number, char *params, size_t len, struct qt_answer *);
void qt_connection_reset_stmt(struct qt_connection *, int64_t number, struct qt_answer *);
void qt_connection_close_stmt(struct qt_connection *, int64_t number, struct qt_answer *);

#endif
