/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QT_VERIFY_H
#define QT_VERIFY_H

#include "connection.h"

/* Adds a row of the text protocol. */
void qt_link_sum_row(struct qt_link *, char **row, const unsigned long *lengths, unsigned columns, struct qt_checksum *);
/* From now on rows of this connection's binary protocol go into the sum that this thread has named. */
void qt_link_sum_binary(struct qt_link *);
void qt_link_sum_into(struct qt_checksum *, unsigned columns); /* begins a result; NULL = none any more */

#endif
