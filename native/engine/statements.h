/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a connection's prepared statements, found by their numbers on the tape. The connection owns the table
 * and the library's statements in it. Only the connection's thread may call these functions. */
#ifndef QT_ENGINE_STATEMENTS_H
#define QT_ENGINE_STATEMENTS_H

#include "engine/connection_state.h"

struct qt_prepared *qt_statements_find(struct qt_connection *,
                                       int64_t number); /* NULL = not found; valid until the next add */
/* Takes ownership of `stmt`. Closes an older statement with the same number. Returns -1 when out of memory, and the
 * caller keeps `stmt`. */
int qt_statements_add(struct qt_connection *, int64_t number, struct st_mysql_stmt *stmt);
/* Adds a statement as a copy of its text, because the target cannot prepare it. Returns -1 when out of memory. */
int qt_statements_add_text(struct qt_connection *, int64_t number, const char *text, size_t len);
void qt_statements_drop(struct qt_connection *, struct qt_prepared *); /* closes it, also on the server */
/* Closes all statements without a request to the server. Called when the server has already dropped them, because the
 * connection was closed or reset. */
void qt_statements_clear(struct qt_connection *);

#endif
