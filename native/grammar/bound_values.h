/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the value that an execution binds to one placeholder. schemas/params.md describes the byte format. */
#ifndef QT_BOUND_VALUES_H
#define QT_BOUND_VALUES_H

#include "base/bytes.h"

/* Appends the value of placeholder `number`, counted from 0, to `to`. Returns 1 if a value was added and -1 when out of
 * memory. Returns 0 if the value is NULL, unknown or was sent as long data. */
int qt_bound_value(const char *params, size_t len, int64_t number, struct qt_bytes *to);

#endif
