/* SPDX-License-Identifier: Apache-2.0 */
/* The value that an execution binds to one placeholder, as a literal; schemas/params.md has the bytes. */
#ifndef QT_BOUND_VALUES_H
#define QT_BOUND_VALUES_H

#include "base/bytes.h"

/* Adds the value of placeholder `number`, from 0, to `to`: 1; 0 where it is NULL, came as long data or is not known;
 * -1 out of memory. */
int qt_bound_value(const char *params, size_t len, int64_t number, struct qt_bytes *to);

#endif
