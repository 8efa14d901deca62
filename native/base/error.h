/* SPDX-License-Identifier: Apache-2.0 */
/* How every C function says what went wrong: `return qt_fail(err, QT_EFORMAT, "expected %s, found %s", ...)`. */
#ifndef QT_ERROR_H
#define QT_ERROR_H

#include "querytape.h"

/* Fills `err` (which may be NULL) and returns `code`. A message that is too long is cut. */
int qt_fail(struct qt_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
