/* SPDX-License-Identifier: Apache-2.0 */
/* Error reporting of all C functions: `return qt_fail(err, QT_EFORMAT, "expected %s, found %s", ...)`. */
#ifndef QT_ERROR_H
#define QT_ERROR_H

#include "querytape.h"

/* Fills `err` (may be NULL) and returns `code`. Truncates a message that is too long. */
int qt_fail(struct qt_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
