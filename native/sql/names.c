/* SPDX-License-Identifier: Apache-2.0 */
/* Names in SQL may have quotes or back quotes and begin with @. The comparison skips all these characters. */
#include "sql/names.h"

#include <string.h>

/* Returns the name without @ and quotes. */
static const char *bare(const struct qt_token *t, size_t *len)
{
    const char *p = t->p, *end = t->p + t->len;
    if (p < end && *p == '@')
        p++;
    if (p < end && (*p == '`' || *p == '\'' || *p == '"')) {
        end -= end - p > 1 && end[-1] == *p;
        p++;
    }
    *len = (size_t)(end - p);
    return p;
}

int qt_name_is(const struct qt_token *t, const char *name)
{
    size_t len, want = strlen(name);
    const char *p = bare(t, &len);
    if (len != want)
        return 0;
    for (size_t i = 0; i < len; i++)
        if (qt_lower(p[i]) != name[i])
            return 0;
    return 1;
}

int qt_name_is_any(const struct qt_token *t, const char *const *names)
{
    for (; *names != NULL; names++)
        if (qt_name_is(t, *names))
            return 1;
    return 0;
}
