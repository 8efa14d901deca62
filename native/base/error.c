/* SPDX-License-Identifier: Apache-2.0 */
/* The message is made when the error happens: what it names may be gone when somebody reads it. */
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
