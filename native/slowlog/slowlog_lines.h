/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a slow log in memory. */
#ifndef QT_SLOWLOG_LINES_H
#define QT_SLOWLOG_LINES_H

#include <string.h>

#define STARTS(p, end, text) ((size_t)((end) - (p)) >= sizeof(text) - 1 && memcmp((p), (text), sizeof(text) - 1) == 0)

/* The end of the line at p (its newline or the end of input), NULL where more input may bring it. */
static inline const char *line_end(const char *p, const char *end, int at_end)
{
    const char *newline = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return newline != NULL ? newline : at_end ? end : NULL;
}

static inline const char *without_cr(const char *p, const char *line)
{
    return line > p && line[-1] == '\r' ? line - 1 : line;
}

/* Without what editors, terminals and other systems leave at a line's end. */
static inline const char *without_blanks(const char *p, const char *line)
{
    while (line > p && (line[-1] == '\r' || line[-1] == ' ' || line[-1] == '\t'))
        line--;
    return line;
}

#endif
