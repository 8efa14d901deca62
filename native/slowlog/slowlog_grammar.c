/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   # Time: ...                     \
 *   # User@Host: ...                 | header: consecutive lines that begin with #
 *   # Query_time: ...               /
 *   use shop;                          only if SET or the body follows
 *   SET timestamp=1718000000;          the server's own: the first SET of the event
 *   SELECT ...;                        body: raw bytes, then ";\n"
 *
 * slowlog_body.c finds the end of a body. Sources: sql/log.cc of MySQL 5.7 to 9 and of MariaDB 10.11.
 */
#include "slowlog/slowlog_grammar.h"

#include "reader/log_text.h"
#include "slowlog/slowlog_header.h"
#include "slowlog/slowlog_lines.h"

#define MAX_LINE ((size_t)1 << 20)

static const char ADMIN[] = "# administrator command: ";

static int is_banner_rest(const char *p, const char *line)
{
    if (STARTS(p, line, "Tcp port: ") || STARTS(p, line, "TCP Port: "))
        return 1;
    if (!STARTS(p, line, "Time"))
        return 0;
    for (p += 4; p < line && (*p == ' ' || *p == '\t'); p++)
        ;
    return STARTS(p, line, "Id Command");
}

static void header_line(const char *p, const char *line, struct qt_slow_event *out)
{
    line = without_cr(p, line); /* a blank after `Schema:` means no schema */
    if (line - p < 3 || p[1] != ' ' || STARTS(p, line, "# explain: ") || STARTS(p, line, "# No InnoDB"))
        return;
    if (STARTS(p, line, "# Warning")) {
        out->warnings += out->warnings < 0 ? 1 : STARTS(p, line, "# Warning ");
        return;
    }
    size_t len;
    enum qt_header_mark mark = qt_header_mark_at(p, line, &len);
    if (mark == QT_MARK_TIME) {
        p += len;
        out->time = qt_logtime_parse(p, (size_t)(line - p));
        const char *next = p;
        while (next < line && *next != '#') /* old Percona servers put `# User@Host:` on the same line */
            next++;
        out->time_text.p = p;
        out->time_text.len = (size_t)((next > p && next < line ? next - 1 : next) - p);
        if (next == line)
            return;
        p = next;
        mark = qt_header_mark_at(p, line, &len);
    }
    if (mark != QT_MARK_USER_HOST && mark != QT_MARK_USER) {
        p += line - p >= 2 ? 2 : 0;
    } else {
        p += len;
        const char *rest = qt_slow_parse_user_host(p, line, out);
        out->unknown_line |= rest == p;
        p = rest;
        while (p < line && *p == ' ')
            p++;
        if (p == line)
            return;
    }
    qt_slow_parse_attributes(p, line, out);
}

/* Parses `use db;` or `` use `db`; ``. The line belongs to the header only if the event continues after it. */
static int meta_use(const char *p, const char *line, const char *end, int at_end, struct qt_slow_event *out,
                    enum qt_slow_bound *more)
{
    const char *stop = without_blanks(p, line);
    if (!(STARTS(p, stop, "use ") || STARTS(p, stop, "USE ")) || stop[-1] != ';' || out->use.p != NULL)
        return 0;
    enum qt_slow_bound ends = qt_slow_bound_at(line + 1 > end ? end : line + 1, end, at_end);
    *more = ends;
    if (ends != QT_NO_BOUND) /* the event ends or may end here: the line is the client's own statement */
        return 0;
    p += 4;
    stop--;
    if (stop - p >= 2 && *p == '`' && stop[-1] == '`')
        p++, stop--;
    out->use.p = p;
    out->use.len = (size_t)(stop - p);
    return 1;
}

static void reset_event(struct qt_slow_event *out)
{
    memset(out, 0, sizeof *out);
    out->thread_id = out->query_ns = out->lock_ns = out->rows_sent = out->rows_examined = out->rows_affected = -1;
    out->bytes_sent = out->warnings = out->errno_ = out->killed = out->start_ns = out->end_ns = -1;
    out->timestamp_s = out->insert_id = out->last_insert_id = out->rate_limit = -1;
}

/* Percona 8.0 wrote some attribute lines without their `#` (PS-7492). */
static int hashless_attributes(const char *p, const char *line)
{
    return STARTS(p, line, "Tmp_tables: ") || STARTS(p, line, "Profile_") || STARTS(p, line, "Bytes_sent: ");
}

static enum qt_slow_result parse_event(const char *start, const char *end, int at_end, enum qt_slow_quotes quotes,
                                       struct qt_slow_event *out, size_t *used)
{
    const char *p = start;
    int seen_set = 0;
    reset_event(out);
    while (p < end) {
        const char *line = line_end(p, end, at_end);
        if (line == NULL)
            return QT_SLOW_MORE;
        enum qt_slow_bound more = QT_NO_BOUND;
        if (STARTS(p, line, ADMIN)) {
            const char *stop = without_blanks(p, line);
            out->is_admin = 1;
            out->body.p = p + sizeof ADMIN - 1;
            out->body.len = (size_t)(stop - out->body.p) - (stop[-1] == ';');
            *used = (size_t)((line < end ? line + 1 : end) - start);
            return QT_SLOW_EVENT;
        }
        if (*p == '#' && out->query_ns != -1 && qt_slow_begins_header(p, line)) {
            enum qt_slow_bound next = qt_slow_header_at(p, end, at_end);
            if (next == QT_BOUND_UNKNOWN)
                return QT_SLOW_MORE;
            if (next == QT_BOUND_HEADER)
                break; /* the next event's header: this event has no body */
        }
        if (*p == '#' && !seen_set)
            header_line(p, line, out);
        else if (!seen_set && hashless_attributes(p, line))
            qt_slow_parse_attributes(p, without_cr(p, line), out);
        else if (!seen_set && meta_use(p, line, end, at_end, out, &more))
            ;
        else if (more == QT_BOUND_UNKNOWN)
            return QT_SLOW_MORE;
        else if (!seen_set && qt_slow_parse_set(p, without_blanks(p, line), out)) {
            enum qt_slow_bound ends = qt_slow_bound_at(line + 1 > end ? end : line + 1, end, at_end);
            if (ends == QT_BOUND_UNKNOWN)
                return QT_SLOW_MORE;
            seen_set = 1;
            if (ends != QT_NO_BOUND && ends != QT_BOUND_FOREIGN && ends != QT_BOUND_END)
                continue; /* the next event follows: read the client's own SET again as the body */
        } else if (qt_is_foreign_line(p, (size_t)(line - p))) {
            break;
        } else {
            const char *after = qt_slow_find_body_end(p, end, at_end, quotes, out);
            if (after == NULL)
                return QT_SLOW_MORE;
            *used = (size_t)(after - start);
            return QT_SLOW_EVENT;
        }
        p = line < end ? line + 1 : end;
    }
    if (!at_end && p >= end)
        return QT_SLOW_MORE;
    out->truncated = 1; /* a header without a body */
    *used = (size_t)(p - start);
    return QT_SLOW_EVENT;
}

enum qt_slow_result qt_slow_parse(const char *p, size_t len, int at_end, int known, enum qt_slow_quotes quotes,
                                  struct qt_slow_event *out, struct qt_span *banner, size_t *used)
{
    const char *end = p + len;
    banner->p = NULL;
    *used = 0;
    if (len == 0)
        return QT_SLOW_MORE;
    if (known)
        return parse_event(p, end, at_end, quotes, out, used);
    const char *line = line_end(p, end, at_end);
    if (line == NULL && len < MAX_LINE)
        return QT_SLOW_MORE;
    if (line == NULL) { /* a header line is never this long */
        *used = MAX_LINE;
        return QT_SLOW_GARBAGE;
    }
    *used = (size_t)((line < end ? line + 1 : end) - p);
    if (without_blanks(p, line) == p || is_banner_rest(p, line))
        return QT_SLOW_SKIP;
    if (qt_slow_is_banner(p, line)) {
        banner->p = p;
        banner->len = (size_t)(without_blanks(p, line) - p);
        return QT_SLOW_SKIP;
    }
    if (*p != '#')
        return QT_SLOW_GARBAGE;
    enum qt_slow_bound header = qt_slow_header_at(p, end, at_end);
    if (header == QT_BOUND_HEADER)
        return parse_event(p, end, at_end, quotes, out, used);
    return header == QT_BOUND_UNKNOWN ? QT_SLOW_MORE : QT_SLOW_GARBAGE;
}
