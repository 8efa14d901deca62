/* SPDX-License-Identifier: Apache-2.0 */
#include "slowlog/slowlog_lines.h"

#include "reader/log_text.h"

#define HEADER_LINES 200  /* most lines in a header (explain blocks are long) */
#define LONGEST_NAME 4096 /* bytes of the longest file name in another program's line or a server's first line */

int qt_slow_is_banner(const char *p, const char *line)
{
    static const char tail[] = "started with:";
    line = without_blanks(p, line);
    if ((size_t)(line - p) < sizeof tail + 11 || memcmp(line - (sizeof tail - 1), tail, sizeof tail - 1) != 0)
        return 0;
    for (const char *at = p; (at = memchr(at, ',', (size_t)(line - at))) != NULL; at++)
        if (STARTS(at, line, ", Version: "))
            return 1;
    return 0;
}

int qt_slow_begins_header(const char *p, const char *line)
{
    size_t len;
    return qt_header_mark_at(p, line, &len) != QT_MARK_NONE;
}

enum qt_slow_bound qt_slow_header_at(const char *p, const char *end, int at_end)
{
    for (int n = 0; n < HEADER_LINES; n++) {
        const char *line = line_end(p, end, at_end);
        if (line == NULL)
            return n == 0 && end - p > 13 && !qt_slow_begins_header(p, end) ? QT_NO_BOUND : QT_BOUND_UNKNOWN;
        if (p == line || *p != '#' || (n == 0 && !qt_slow_begins_header(p, line)))
            return QT_NO_BOUND;
        const char *key = p;
        if (STARTS(key, line, QT_QUERY_TIME_MARK))
            return QT_BOUND_HEADER;
        while ((key = memchr(key + 1, 'Q', (size_t)(line - key - 1))) != NULL)
            if (STARTS(key, line, "Query_time: "))
                return QT_BOUND_HEADER;
        p = line + 1;
        if (p >= end)
            return at_end ? QT_NO_BOUND : QT_BOUND_UNKNOWN;
    }
    return QT_NO_BOUND;
}

enum qt_slow_bound qt_slow_bound_at(const char *p, const char *end, int at_end)
{
    if (p >= end)
        return at_end ? QT_BOUND_END : QT_BOUND_UNKNOWN;
    if (*p == '#')
        return qt_slow_header_at(p, end, at_end);
    int is_number = *p >= '0' && *p <= '9';
    if (is_number && end - p >= QT_TIME_BYTES)
        return qt_is_foreign_line(p, QT_TIME_BYTES) ? QT_BOUND_FOREIGN : QT_NO_BOUND;
    /* A server's path begins in one of these ways: /usr/sbin/mysqld, bin/mysqld, mariadbd, D:\mysqld */
    int may_be_path = *p == '/' || *p == '.' || *p == 'm' || *p == 'b' || (end - p > 1 && p[1] == ':');
    if (!is_number && *p != '=' && !may_be_path)
        return QT_NO_BOUND;
    const char *line = line_end(p, end, at_end);
    if (line == NULL)
        return end - p > LONGEST_NAME ? QT_NO_BOUND : QT_BOUND_UNKNOWN;
    if (qt_is_foreign_line(p, (size_t)(line - p)))
        return QT_BOUND_FOREIGN;
    return qt_slow_is_banner(p, line) ? QT_BOUND_BANNER : QT_NO_BOUND;
}
