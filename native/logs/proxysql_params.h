/* SPDX-License-Identifier: Apache-2.0 */
/* The bound values of an execution in ProxySQL's events log (mysql-eventslog_stmt_parameters, since 2.7.3). */
#ifndef QT_PROXYSQL_PARAMS_H
#define QT_PROXYSQL_PARAMS_H

#include "base/bytes.h"

/* Converts the bytes after an execution's query to the tape's params (schemas/params.md, `E`) and appends them to
 * `out`. The caller owns `out`.
 *
 * Returns 1 if converted, 0 if the bytes have no values or are invalid, -1 when out of memory. Sets `count` to the
 * number of values. */
int qt_proxysql_params(struct qt_span block, struct qt_bytes *out, uint64_t *count);

#endif
