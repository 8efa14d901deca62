/* SPDX-License-Identifier: Apache-2.0 */
/* Formats the message at once, because the values in it may be gone when the message is read. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

int qt_fail(struct qt_error *err, int code, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        err->code = code;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return code;
}
