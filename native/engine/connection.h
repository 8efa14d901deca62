/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to the target. Only this file, statements.h, send_prepared.h and verify.h use Connector/C for the
 * engine. The owner of the struct closes the connection. Only one thread at a time may use it. The callback `opened`
 * reports the socket, so that another thread can shut it down. */
#ifndef QT_CONNECTION_H
#define QT_CONNECTION_H

#include "base/bytes.h"
#include "engine/connection_state.h"

enum { QT_NO_SUCH_SCHEMA = 1049 }; /* error number of the server */

/* Connects, sets the collation and runs `init`. Returns 0, or the errno of the client or server. The caller must close
 * the connection in both cases. */
int qt_connection_open(struct qt_connection *, const struct qt_engine_options *, const struct qt_login *);
const char *qt_connection_error(struct qt_connection *); /* error of the last command; "" = none */
int64_t qt_connection_thread_id(struct qt_connection *);
int qt_connection_in_transaction(struct qt_connection *);
int qt_connection_autocommits(struct qt_connection *);
void qt_connection_close(struct qt_connection *); /* sends quit if the connection is still open; frees its memory */

/* Steps of one statement: send it, wait for the first byte of the answer, receive the answer. send and receive fill
 * `answer`. wait returns 0 after timeout_ms without a byte (-1 = no limit). */
int qt_connection_send(struct qt_connection *, const char *sql, size_t len, struct qt_answer *);
/* Sends a statement with its query attributes, in wire format. Attributes are dropped if client and server have not
 * agreed on them (`named`). */
int qt_connection_send_with(struct qt_connection *, struct qt_span attributes, const char *sql, size_t len,
                            struct qt_answer *);
int qt_connection_wait(struct qt_connection *, int timeout_ms);
void qt_connection_receive(struct qt_connection *, struct qt_answer *);

/* Ends an answer with the error of its last step (0 = none). For send_prepared.c. */
void qt_connection_finish(struct qt_connection *, struct qt_answer *, int error, const char *text);

/* Commands with one packet in each direction. */
void qt_connection_select_db(struct qt_connection *, const char *db, struct qt_answer *);
void qt_connection_ping(struct qt_connection *, struct qt_answer *);
/* Reset the session or change its user. Both functions also restore the collation and run `init` again, because the
 * server resets the session's settings. */
void qt_connection_reset(struct qt_connection *, const struct qt_engine_options *, struct qt_answer *);
void qt_connection_change_user(struct qt_connection *, const struct qt_engine_options *, const struct qt_login *,
                               struct qt_answer *);
void qt_connection_set_option(struct qt_connection *, int option, struct qt_answer *); /* enum enum_mysql_set_option */

#endif
