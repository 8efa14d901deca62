/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a connection's prepared statements, found by the tape's number for them. The connection owns the table
 * and the library's statements in it; its thread alone may call these. */
#ifndef QT_ENGINE_STATEMENTS_H
#define QT_ENGINE_STATEMENTS_H

#include "engine/connection_state.h"

struct qt_prepared *qt_statements_find(struct qt_connection *,
                                       int64_t number); /* NULL = there is none; until the next add */
/* Takes `stmt` over; one that had its number is closed. -1 when out of memory: `stmt` stays the caller's. */
int qt_statements_add(struct qt_connection *, int64_t number, struct st_mysql_stmt *stmt);
/* A statement that is kept as its text, copied: the target cannot prepare it. -1 when out of memory. */
int qt_statements_add_text(struct qt_connection *, int64_t number, const char *text, size_t len);
void qt_statements_drop(struct qt_connection *, struct qt_prepared *); /* closes it, on the server as well */
/* Closes all where the server knows none of them any more: its end of the connection is closed, or was reset. */
void qt_statements_clear(struct qt_connection *);

#endif
