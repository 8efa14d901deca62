/* SPDX-License-Identifier: Apache-2.0 */
/* The values that ProxySQL's events log keeps of an execution (mysql-eventslog_stmt_parameters, from 2.7.3 on). */
#ifndef QT_PROXYSQL_PARAMS_H
#define QT_PROXYSQL_PARAMS_H

#include "base/bytes.h"

/* Turns what is behind an execution's query into the tape's params (schemas/params.md, `E`), added to `out`, whose
 * owner the caller is. 1, 0 = no values in it, or not understood, -1 = out of memory. `count` gets how many. */
int qt_proxysql_params(struct qt_span block, struct qt_bytes *out, uint64_t *count);

#endif
