/* SPDX-License-Identifier: Apache-2.0 */
/* Query attributes (MySQL 8.0.23 and later): Connector/C does not know of them, so client and server agree on them
 * behind its back, and each COM_QUERY and COM_STMT_EXECUTE is framed here. Only where the original client had them. */
#ifndef QT_QUERY_ATTRIBUTES_H
#define QT_QUERY_ATTRIBUTES_H

#include "base/bytes.h"
#include "base/reading.h"
#include "engine/connection_state.h"

/* Before the login: asks for them where `client_flags` of the original have them. */
void qt_query_attributes_ask(struct qt_connection *, int64_t client_flags);
/* After it: `named` of the connection is whether the server has agreed. */
void qt_query_attributes_agree(struct qt_connection *);
/* Sends a statement with `attributes`, as they were on the wire (len 0: none). As mysql_send_query. */
int qt_query_attributes_send(struct qt_connection *, struct qt_span attributes, const char *sql, size_t len);
/* An execution's request as it is where attributes are agreed: with a count and a name for each of `n` parameters.
 * `r` is at the flags of what the tape has; `absent`: of params `D` and `N`, else NULL; `has_names`: of `N`. 0, or 1 =
 * it doesn't fit. */
int qt_query_attributes_name(struct qt_reading r, uint64_t n, const uint8_t *absent, int has_names,
                             struct qt_bytes *out);

#endif
