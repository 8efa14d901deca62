/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/own_clock.h"

#include <string.h>
#include <strings.h>

static const char NAME[] = "timestamp";
#define NAME_LEN (sizeof NAME - 1)

static int is_any(char c, const char *of) { return c != '\0' && strchr(of, c) != NULL; }

/* Returns the value that is assigned to the name that ends at p, or NULL. */
static const char *value_at(const char *p, const char *end)
{
    while (p < end && is_any(*p, " \t\r\n`"))
        p++;
    p += p < end && *p == ':';
    if (p == end || *p != '=')
        return NULL;
    for (p++; p < end && is_any(*p, " \t\r\n"); p++)
        ;
    return p;
}

int qt_gives_clock_back(struct qt_span text)
{
    const char *end = text.p + text.len;
    int back = 0;
    for (const char *p = text.p; end - p >= (ptrdiff_t)NAME_LEN; p++) {
        if ((*p | 0x20) != 't' || strncasecmp(p, NAME, NAME_LEN) != 0)
            continue;
        const char *value = value_at(p + NAME_LEN, end);
        if (value == NULL)
            continue;
        size_t n = 0;
        while (value + n < end && !is_any(value[n], " \t\r\n,;"))
            n++;
        back = (n == 7 && strncasecmp(value, "default", 7) == 0) || (n == 1 && *value == '0');
    }
    return back;
}
