/* SPDX-License-Identifier: Apache-2.0 */
/* Times as servers and their watchers write them: 2026-03-04T09:15:02, 2026-03-04  9:15:02, 260304  9:15:02. */
#include "reader/foreign_line.h"

#include <string.h>

/* Takes a text: 9 = a digit, _ = blanks or one T, 8 = one digit or two, all else = itself. */
static int fits(const char *p, const char *end, const char *form)
{
    for (; *form != '\0'; form++) {
        const char *from = p;
        if (*form == '_') {
            while (p < end && p - from < 8 && (*p == ' ' || *p == 'T'))
                p++;
        } else if (*form == '9' || *form == '8') {
            while (p < end && p - from < (*form == '8' ? 2 : 1) && *p >= '0' && *p <= '9')
                p++;
        } else {
            p += p < end && *p == *form;
        }
        if (p == from)
            return 0;
    }
    return 1;
}

int qt_is_foreign_line(const char *p, size_t len)
{
    const char *end = p + len;
    if (len > 0 && *p == '=') { /* of `tail -F` */
        end -= end[-1] == '\r';
        return end - p > 8 && memcmp(p, "==> ", 4) == 0 && memcmp(end - 4, " <==", 4) == 0;
    }
    return fits(p, end, "9999-99-99_8:99:99") || fits(p, end, "999999_8:99:99");
}
