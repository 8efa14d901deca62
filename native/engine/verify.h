/* SPDX-License-Identifier: Apache-2.0 */
/* Checksums of result rows, made while they are received. The connection's thread alone may call these; the
 * connection owns the row buffer and the table of methods that they allocate. */
#ifndef QT_VERIFY_H
#define QT_VERIFY_H

#include <mysql.h>

#include "engine/connection_state.h"

/* Adds a row of the text protocol. */
void qt_verify_row(struct qt_connection *, char **row, const unsigned long *lengths, unsigned columns,
                   struct qt_checksum *);
/* From now on rows of this connection's binary protocol go into the checksum that this thread has named. */
void qt_verify_binary_rows(struct qt_connection *);
void qt_verify_into(struct qt_checksum *, unsigned columns); /* begins a result; NULL = none any more */

/* How many bytes a row of the binary protocol has, by its columns' types; 0 = it does not fit into `room` bytes. */
size_t qt_binary_row_length(const void *row, size_t room, const MYSQL_FIELD *fields, unsigned columns);

#endif
