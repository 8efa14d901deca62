/* SPDX-License-Identifier: Apache-2.0 */
/* Errors are returned, never printed. */
#ifndef QT_ERROR_H
#define QT_ERROR_H

#include "querytape.h"

/* Fills `error` (may be NULL) and returns `code`, so that a failing function can end with it. */
int qt_fail(struct qt_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
