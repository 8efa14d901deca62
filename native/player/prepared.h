/* SPDX-License-Identifier: Apache-2.0 */
/* Prepared statements of one connection, found by the tape's number for them: the server's ids are its own affair.
 *
 * Parameters are sent as they stand on the tape (schemas/params.md), so values reach the server byte for byte as the original client's.
 * Connector/C sends what it encodes itself; its table of methods, in its public header, sends raw requests: all use of it is here.
 */
#ifndef QT_PREPARED_H
#define QT_PREPARED_H

#include "connection.h"

/* Sends PREPARE and reads the answer. A statement of this number is replaced. */
void qt_link_prepare(struct qt_link *, int64_t number, const char *sql, size_t len, struct qt_answer *);
int qt_link_is_prepared(struct qt_link *, int64_t number);
int qt_link_has_cursor(struct qt_link *, int64_t number); /* its last execution left one open */

/* EXECUTE or bulk execute: `params` as on the tape, with QT_PARAMS_ROOM writable bytes before them. 0 = sent, now wait and
 * receive; 1 = the parameters don't fit the statement, nothing was sent; -1 = failed, `answer` says how. */
enum { QT_PARAMS_ROOM = 4 };
int qt_link_send_execute(struct qt_link *, int64_t number, char *params, size_t len, struct qt_answer *);
void qt_link_receive_execute(struct qt_link *, struct qt_answer *);

/* The statement is prepared; for fetch it has a cursor. 0, or 1 = not understood and not sent. */
int qt_link_fetch(struct qt_link *, int64_t number, const char *params, size_t len, struct qt_answer *);
int qt_link_long_data(struct qt_link *, int64_t number, char *params, size_t len, struct qt_answer *);
void qt_link_reset_stmt(struct qt_link *, int64_t number, struct qt_answer *);
void qt_link_close_stmt(struct qt_link *, int64_t number, struct qt_answer *);

/* Forgets all without a word to the server: its side of the connection has ended, or forgot them itself. */
void qt_link_forget_all(struct qt_link *);

#endif
