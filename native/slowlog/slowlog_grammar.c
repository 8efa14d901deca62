/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   # Time: ...                     \
 *   # User@Host: ...                 | header: lines that begin with #, up to the first that does not
 *   # Query_time: ...               /
 *   use shop;                          only where SET or the body follows
 *   SET timestamp=1718000000;          the server's own: the first one of the event
 *   SELECT ...;                        body: raw bytes, then ";\n"
 *
 * Nothing carries a length, so a body ends at ";\n" followed by a full header, a server's start-up lines or the end of
 * the input. Where such a place is inside an open literal, the literal's end decides (ambiguous); where the literal
 * never ends, the first place does (unbalanced). Sources: sql/log.cc of MySQL 5.7 to 9 and of MariaDB 10.11.
 */
#include "slowlog/slowlog_grammar.h"

#include <string.h>

#include "slowlog/slowlog_header.h"

#define HEADER_LINES 200 /* explain blocks are long; a header is never longer than this */
#define MAX_LINE ((size_t)1 << 20)
#define LITERAL_REACH (256 << 10) /* how far a literal that swallows headers is followed */

#define STARTS(p, end, text) ((size_t)((end) - (p)) >= sizeof(text) - 1 && memcmp((p), (text), sizeof(text) - 1) == 0)

static const char ADMIN[] = "# administrator command: ";

enum answer { NO = 0, YES = 1, MORE = 2 };

/* The end of the line at p (its newline or the end of input), NULL where more input may bring it. */
static const char *line_end(const char *p, const char *end, int at_end)
{
    const char *newline = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return newline != NULL ? newline : at_end ? end : NULL;
}

static const char *without_cr(const char *p, const char *line)
{
    return line > p && line[-1] == '\r' ? line - 1 : line;
}

/* `/usr/sbin/mysqld, Version: 8.0.15 (...). started with:` */
static int is_banner(const char *p, const char *line)
{
    static const char tail[] = "started with:";
    line = without_cr(p, line);
    if ((size_t)(line - p) < sizeof tail + 11 || memcmp(line - (sizeof tail - 1), tail, sizeof tail - 1) != 0)
        return 0;
    for (const char *at = p; (at = memchr(at, ',', (size_t)(line - at))) != NULL; at++)
        if (STARTS(at, line, ", Version: "))
            return 1;
    return 0;
}

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

static int begins_header(const char *p, const char *line)
{
    return STARTS(p, line, "# User@Host: ") || STARTS(p, line, "# User: ") || STARTS(p, line, "# Time: ") ||
           STARTS(p, line, "# Thread_id: ") || STARTS(p, line, "# Query_time: ") || STARTS(p, line, "# Client: ") ||
           STARTS(p, line, "# Schema: ");
}

/* Is there a whole header at p: a known first line, and within the # lines one with a Query_time? */
static enum answer header_at(const char *p, const char *end, int at_end)
{
    for (int n = 0; n < HEADER_LINES; n++) {
        const char *line = line_end(p, end, at_end);
        if (line == NULL)
            return n == 0 && end - p > 13 && !begins_header(p, end) ? NO : MORE;
        if (p == line || *p != '#' || (n == 0 && !begins_header(p, line)))
            return NO;
        const char *key = p;
        if (STARTS(key, line, "# Query_time: "))
            return YES;
        while ((key = memchr(key + 1, 'Q', (size_t)(line - key - 1))) != NULL)
            if (STARTS(key, line, "Query_time: "))
                return YES;
        p = line + 1;
        if (p >= end)
            return at_end ? NO : MORE;
    }
    return NO;
}

/* May an event end before p, a line's start? */
static enum answer boundary_at(const char *p, const char *end, int at_end)
{
    if (p >= end)
        return at_end ? YES : MORE;
    if (*p == '#')
        return header_at(p, end, at_end);
    if (*p != '/' && *p != '.' && *p != 'm' && *p != 'b' && !(end - p > 1 && p[1] == ':'))
        return NO; /* no path of a server begins so: /usr/sbin/mysqld, bin/mysqld, mariadbd, D:\mysqld */
    const char *line = line_end(p, end, at_end);
    if (line == NULL)
        return end - p > 4096 ? NO : MORE;
    return is_banner(p, line) ? YES : NO;
}

/* Follows literals and comments over a text given in pieces. state: 0 outside, else the byte that opened it. */
static int quote_state(int state, const char *p, const char *end)
{
    while (p < end) {
        char c = *p++;
        if (state == 0) {
            if (c == '\'' || c == '"' || c == '`')
                state = c;
            else if (c == '/' && p < end && *p == '*' && !(p + 1 < end && (p[1] == '!' || p[1] == 'M')))
                state = '*', p++;
            else if (c == '#' ||
                     (c == '-' && p + 1 < end && *p == '-' && (p[1] == ' ' || p[1] == '\t' || p[1] == '\n')))
                state = '#';
        } else if (state == '*') {
            if (c == '*' && p < end && *p == '/')
                state = 0, p++;
        } else if (state == '#') {
            state = c == '\n' ? 0 : '#';
        } else if (c == '\\' && state != '`') {
            p += p < end;
        } else if (c == state) {
            state = 0; /* a doubled quote opens again at once: the same in the end */
        }
    }
    return state;
}

/* A statement's text may be open only in a literal or comment that can hold a newline. */
static int is_open(int state) { return state != 0 && state != '#'; }

/* Finds where the body that begins at `p` ends: sets out->body, returns the byte behind its newline; NULL for MORE. */
static const char *find_body_end(const char *p, const char *end, int at_end, int check_quotes,
                                 struct qt_slow_event *out)
{
    const char *at = p, *first = NULL, *scanned = p;
    int state = 0, passed = 0;
    for (;;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (newline == NULL)
            break;
        at = newline + 1;
        const char *last = without_cr(p, newline);
        int closed = last > p && last[-1] == ';';
        if (!closed && !(at < end && *at == '/') && !(at < end && (*at == 'm' || *at == 'b')))
            continue; /* only start-up lines may follow a body that was cut off */
        if (first != NULL && (size_t)(at - first) > LITERAL_REACH)
            break; /* before anything else: what is in the buffer may not matter */
        enum answer here = boundary_at(at, end, at_end);
        if (here == MORE)
            return NULL;
        if (here == NO || (!closed && *at == '#'))
            continue;
        if (check_quotes)
            state = quote_state(state, scanned, closed ? last - 1 : last);
        scanned = closed ? last - 1 : last;
        if (first == NULL)
            first = at;
        if (!is_open(state) || !closed) {
            out->ambiguous = passed > 0;
            out->truncated = !closed;
            out->body.p = p;
            out->body.len = (size_t)((closed ? last - 1 : last) - p);
            out->header_follows = at < end && *at == '#';
            return at;
        }
        passed++;
        if (at >= end)
            break;
    }
    if (first != NULL && (at_end || (size_t)(end - first) > LITERAL_REACH)) {
        const char *last = without_cr(p, first - 1);
        out->unbalanced = 1;
        out->body.p = p;
        out->body.len = (size_t)(last - 1 - p);
        return first;
    }
    if (!at_end)
        return NULL;
    const char *last = end > p && end[-1] == ';' ? end - 1 : end; /* the last newline may be missing */
    out->truncated = last == end;
    out->body.p = p;
    out->body.len = (size_t)(last - p);
    return end;
}

static void header_line(const char *p, const char *line, struct qt_slow_event *out)
{
    line = without_cr(p, line);
    if (line - p < 3 || p[1] != ' ' || STARTS(p, line, "# explain: ") || STARTS(p, line, "# No InnoDB"))
        return;
    if (STARTS(p, line, "# Warning")) {
        out->warnings += out->warnings < 0 ? 1 : STARTS(p, line, "# Warning ");
        return;
    }
    p += 2;
    if (STARTS(p, line, "Time: ")) {
        p += 6;
        out->time = qt_logtime_parse(p, (size_t)(line - p));
        const char *next = p;
        while (next < line && *next != '#') /* old Percona servers put `# User@Host:` on the same line */
            next++;
        out->time_text.p = p;
        out->time_text.len = (size_t)((next > p && next < line ? next - 1 : next) - p);
        if (next == line)
            return;
        p = next + (next + 2 <= line ? 2 : 0);
    }
    if (STARTS(p, line, "User@Host: ") || STARTS(p, line, "User: ")) {
        p += p[4] == '@' ? 11 : 6;
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

/* `use db;` or `` use `db`; ``: only a meta line where the event goes on behind it. */
static int meta_use(const char *p, const char *line, const char *end, int at_end, struct qt_slow_event *out,
                    enum answer *more)
{
    const char *stop = without_cr(p, line);
    if (!(STARTS(p, stop, "use ") || STARTS(p, stop, "USE ")) || stop[-1] != ';' || out->use.p != NULL)
        return 0;
    enum answer ends = boundary_at(line + 1 > end ? end : line + 1, end, at_end);
    *more = ends;
    if (ends != NO) { /* the event ends here (or it is not known yet): then it is the client's own statement */
        const char *next = line + 1;
        if (ends == YES && next < end && STARTS(next, end, ADMIN))
            ends = NO;
        if (ends != NO)
            return 0;
    }
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

static enum qt_slow_result parse_event(const char *start, const char *end, int at_end, int check_quotes,
                                       struct qt_slow_event *out, size_t *used)
{
    const char *p = start;
    int seen_set = 0;
    reset_event(out);
    while (p < end) {
        const char *line = line_end(p, end, at_end);
        if (line == NULL)
            return QT_SLOW_MORE;
        enum answer more = NO;
        if (STARTS(p, line, ADMIN)) {
            const char *stop = without_cr(p, line);
            out->is_admin = 1;
            out->body.p = p + sizeof ADMIN - 1;
            out->body.len = (size_t)(stop - out->body.p) - (stop[-1] == ';');
            *used = (size_t)((line < end ? line + 1 : end) - start);
            return QT_SLOW_EVENT;
        }
        if (*p == '#' && out->query_ns != -1 && begins_header(p, line)) {
            enum answer next = header_at(p, end, at_end);
            if (next == MORE)
                return QT_SLOW_MORE;
            if (next == YES)
                break; /* the next event's header: this one has no body at all */
        }
        if (*p == '#' && !seen_set)
            header_line(p, line, out);
        else if (!seen_set && hashless_attributes(p, line))
            qt_slow_parse_attributes(p, without_cr(p, line), out);
        else if (!seen_set && meta_use(p, line, end, at_end, out, &more))
            ;
        else if (more == MORE)
            return QT_SLOW_MORE;
        else if (!seen_set && qt_slow_parse_set(p, without_cr(p, line), out)) {
            enum answer ends = boundary_at(line + 1 > end ? end : line + 1, end, at_end);
            if (ends == MORE)
                return QT_SLOW_MORE;
            seen_set = 1;
            if (ends == YES && !STARTS(line + 1, end, ADMIN))
                continue; /* nothing follows: then it is the client's own SET, read again as the body */
        } else {
            const char *after = find_body_end(p, end, at_end, check_quotes, out);
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

enum qt_slow_result qt_slow_parse(const char *p, size_t len, int at_end, int known, int check_quotes,
                                  struct qt_slow_event *out, struct qt_span *banner, size_t *used)
{
    const char *end = p + len;
    banner->p = NULL;
    *used = 0;
    if (len == 0)
        return QT_SLOW_MORE;
    if (known)
        return parse_event(p, end, at_end, check_quotes, out, used);
    const char *line = line_end(p, end, at_end);
    if (line == NULL && len < MAX_LINE)
        return QT_SLOW_MORE;
    if (line == NULL) { /* that much without a newline is no header's line */
        *used = MAX_LINE;
        return QT_SLOW_GARBAGE;
    }
    *used = (size_t)((line < end ? line + 1 : end) - p);
    if (without_cr(p, line) == p || is_banner_rest(p, line))
        return QT_SLOW_SKIP;
    if (is_banner(p, line)) {
        banner->p = p;
        banner->len = (size_t)(without_cr(p, line) - p);
        return QT_SLOW_SKIP;
    }
    if (*p != '#')
        return QT_SLOW_GARBAGE;
    enum answer header = header_at(p, end, at_end);
    if (header == YES)
        return parse_event(p, end, at_end, check_quotes, out, used);
    return header == MORE ? QT_SLOW_MORE : QT_SLOW_GARBAGE;
}
