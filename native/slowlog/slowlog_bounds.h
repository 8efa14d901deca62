/* SPDX-License-Identifier: Apache-2.0 */
/* Where an event of a slow log may end: in front of a whole header, a server's start-up lines, a line that another
 * program wrote, or the end of the input. */
#ifndef QT_SLOWLOG_BOUNDS_H
#define QT_SLOWLOG_BOUNDS_H

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
