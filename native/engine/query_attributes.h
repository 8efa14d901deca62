/* SPDX-License-Identifier: Apache-2.0 */
/* Query attributes (MySQL 8.0.23 and later). Connector/C does not support query attributes, so the engine itself
 * negotiates them with the server. The engine adds the attributes to each COM_QUERY and COM_STMT_EXECUTE. It does so
 * only if the original client used query attributes. */
#ifndef QT_QUERY_ATTRIBUTES_H
#define QT_QUERY_ATTRIBUTES_H

#include "base/bytes.h"
#include "base/reading.h"
#include "engine/connection_state.h"

/* Requests query attributes if `client_flags` of the original client include them. Call it before the login. */
void qt_query_attributes_ask(struct qt_connection *, int64_t client_flags);
/* Sets the connection's `named` if the server supports query attributes. Call it after the login. */
void qt_query_attributes_agree(struct qt_connection *);
/* Sends a statement with `attributes` in wire format (len 0 = none). Returns like mysql_send_query. */
int qt_query_attributes_send(struct qt_connection *, struct qt_span attributes, const char *sql, size_t len);
/* Converts an execution request of the tape to the format with query attributes: with a count, and a name for each of
 * `n` parameters. `r` begins at the flags of the tape's request. `absent` comes from params `D` and `N`, else NULL.
 * `has_names` is set for `N`. Returns 0, or 1 if the request does not fit. */
int qt_query_attributes_name(struct qt_reading r, uint64_t n, const uint8_t *absent, int has_names,
                             struct qt_bytes *out);

#endif
