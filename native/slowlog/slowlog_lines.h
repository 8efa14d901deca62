/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a slow log in memory: where they end, and which of them end the event before. */
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

/* Where an event of a slow log may end: in front of a whole header, a server's start-up lines, a line that another
 * program wrote, or the end of the input. */
enum qt_slow_bound {
    QT_NO_BOUND = 0,
    QT_BOUND_UNKNOWN, /* more input tells */
    QT_BOUND_HEADER,
    QT_BOUND_BANNER,
    QT_BOUND_FOREIGN,
    QT_BOUND_END /* of the input */
};

/* What is at p, a line's start. */
enum qt_slow_bound qt_slow_bound_at(const char *p, const char *end, int at_end);
/* Is there a whole header at p: a known first line, and within the # lines one with a Query_time? HEADER, NO or UNKNOWN
 * of the bounds. */
enum qt_slow_bound qt_slow_header_at(const char *p, const char *end, int at_end);
/* Is the line one that a header begins with? */
int qt_slow_begins_header(const char *p, const char *line);
/* `/usr/sbin/mysqld, Version: 8.0.15 (...). started with:` */
int qt_slow_is_banner(const char *p, const char *line);

#endif
