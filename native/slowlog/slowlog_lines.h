/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a slow log in memory: their ends, and the lines that end the previous event. */
#ifndef QT_SLOWLOG_LINES_H
#define QT_SLOWLOG_LINES_H

#include <string.h>

#define STARTS(p, end, text) ((size_t)((end) - (p)) >= sizeof(text) - 1 && memcmp((p), (text), sizeof(text) - 1) == 0)

/* Returns the end of the line at p: its newline or the end of input. Returns NULL if more input is needed. */
static inline const char *line_end(const char *p, const char *end, int at_end)
{
    const char *newline = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return newline != NULL ? newline : at_end ? end : NULL;
}

static inline const char *without_cr(const char *p, const char *line)
{
    return line > p && line[-1] == '\r' ? line - 1 : line;
}

/* Removes trailing blanks and carriage returns. Editors, terminals and other systems add them. */
static inline const char *without_blanks(const char *p, const char *line)
{
    while (line > p && (line[-1] == '\r' || line[-1] == ' ' || line[-1] == '\t'))
        line--;
    return line;
}

/* The places where a slow-log event may end. An event ends before a complete header, before a server's start-up lines,
 * or before another program's line. It may also end at the end of the input. */
enum qt_slow_bound {
    QT_NO_BOUND = 0,
    QT_BOUND_UNKNOWN, /* more input is needed */
    QT_BOUND_HEADER,
    QT_BOUND_BANNER,
    QT_BOUND_FOREIGN,
    QT_BOUND_END /* end of the input */
};

/* Returns the kind of bound at p, which is the start of a line. */
enum qt_slow_bound qt_slow_bound_at(const char *p, const char *end, int at_end);
/* Looks for a complete header at p: a known first line, and a Query_time within the following # lines. Returns the
 * HEADER, NO or UNKNOWN value of enum qt_slow_bound. */
enum qt_slow_bound qt_slow_header_at(const char *p, const char *end, int at_end);
/* Returns 1 if a header can begin with this line. */
int qt_slow_begins_header(const char *p, const char *line);
/* Returns 1 for a line such as `/usr/sbin/mysqld, Version: 8.0.15 (...). started with:` */
int qt_slow_is_banner(const char *p, const char *line);

#endif
