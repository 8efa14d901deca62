/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to the target. All of Connector/C that the engine uses is behind this, statements.h,
 * send_prepared.h and verify.h. Whoever has the struct closes it; one thread at a time, but for the socket's number,
 * which `opened` is told so that another thread may shut it down. */
#ifndef QT_CONNECTION_H
#define QT_CONNECTION_H

#include "base/bytes.h"
#include "engine/connection_state.h"

/* Connects, sets the collation and runs `init`. 0, or the client's or server's errno with the connection still to be
 * closed. */
int qt_connection_open(struct qt_connection *, const struct qt_engine_options *, const struct qt_login *);
const char *qt_connection_error(struct qt_connection *); /* of the last command; "" = none */
int64_t qt_connection_thread_id(struct qt_connection *);
int qt_connection_in_transaction(struct qt_connection *);
int qt_connection_autocommits(struct qt_connection *);
void qt_connection_close(struct qt_connection *); /* says quit, where it is still open; frees what it has */

/* One statement: send, wait for the answer's first byte, receive. send and receive fill `answer`;
 * wait returns 0 when timeout_ms passed (-1 = none). */
int qt_connection_send(struct qt_connection *, const char *sql, size_t len, struct qt_answer *);
/* With query attributes as they were on the wire, where they are agreed on (`named`); else without. */
int qt_connection_send_with(struct qt_connection *, struct qt_span attributes, const char *sql, size_t len,
                            struct qt_answer *);
int qt_connection_wait(struct qt_connection *, int timeout_ms);
void qt_connection_receive(struct qt_connection *, struct qt_answer *);

/* For send_prepared.c: ends an answer with the error of its last step (0 = none). */
void qt_connection_finish(struct qt_connection *, struct qt_answer *, int error, const char *text);

/* Commands of one packet each way. */
void qt_connection_select_db(struct qt_connection *, const char *db, struct qt_answer *);
void qt_connection_ping(struct qt_connection *, struct qt_answer *);
/* These two also set the collation and `init` again, which the command undoes. */
void qt_connection_reset(struct qt_connection *, const struct qt_engine_options *, struct qt_answer *);
void qt_connection_change_user(struct qt_connection *, const struct qt_engine_options *, const struct qt_login *,
                               struct qt_answer *);
void qt_connection_set_option(struct qt_connection *, int option, struct qt_answer *); /* enum enum_mysql_set_option */

#endif
