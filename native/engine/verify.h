/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums of result rows, computed while the rows are received. Only the connection's thread may call these
 * functions. The connection owns the row buffer and the table of methods that they allocate. */
#ifndef QT_VERIFY_H
#define QT_VERIFY_H

#include <mysql.h>

#include "engine/connection_state.h"

/* Adds a row of the text protocol. */
void qt_verify_row(struct qt_connection *, char **row, const unsigned long *lengths, unsigned columns,
                   struct qt_checksum *);
/* Adds later binary-protocol rows of this connection to the checksum that the thread sets with qt_verify_into. */
void qt_verify_binary_rows(struct qt_connection *);
void qt_verify_into(struct qt_checksum *, unsigned columns); /* begins a result; NULL = no checksum */

/* Returns the length in bytes of a binary-protocol row, computed from its column types. Returns 0 if the row does not
 * fit into `room` bytes. */
size_t qt_binary_row_length(const void *row, size_t room, const MYSQL_FIELD *fields, unsigned columns);

#endif
