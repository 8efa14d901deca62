/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of other programs begin with a time in one of these forms:
 *
 *   2026-03-04T09:15:02
 *   2026-03-04  9:15:02
 *   260304  9:15:02
 *
 * Wrapped records follow other text in their line:
 *
 *   web-1  | # Query_time: 0.1  Lock_time: 0
 *   web-1  | 260304  9:15:02\t  8 Query\t */
#include "reader/log_text.h"

#include <string.h>

/* Matches a text against a form: 9 = a digit, 8 = one or two digits, _ = blanks or one T, any other character =
 * itself. */
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

static int has(const char *p, size_t len, const char *part) { return memmem(p, len, part, strlen(part)) != NULL; }

static int begins(const char *p, size_t len, const char *with)
{
    return len > strlen(with) && memcmp(p, with, strlen(with)) == 0;
}

/* Recognizes lines of an error log that begin without a date:
 * - all lines of log_sink_json
 * - the second line of a server start
 * - lines of Galera, and of InnoDB before 5.7
 * - the first line of a crash */
static int is_of_error_log(const char *p, size_t len)
{
    if (*p == '{')
        return has(p, len, "\"prio\"") && has(p, len, "\"err_code\"");
    if (*p == 'V')
        return begins(p, len, "Version: '") && has(p, len, "'  socket: '");
    return begins(p, len, "WSREP: ") || begins(p, len, "InnoDB: ") || fits(p, p + len, "99:99:99 UTC - ");
}

/* Recognizes lines of other programs in a container. They begin with a date in brackets, a date with slashes, a syslog
 * date or a klog date. A klog date is a letter and four digits. JSON objects with a level and a time also count. SQL
 * never has such lines. */
static int is_of_container(const char *p, size_t len)
{
    static const char months[] = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
    const char *end = p + len;
    if (*p == '{')
        return (has(p, len, "\"level\":") || has(p, len, "\"severity\":")) &&
               (has(p, len, "\"time\":") || has(p, len, "\"ts\":") || has(p, len, "\"timestamp\":"));
    if (*p == '[')
        return fits(p, end, "[9999-99-99_8:99:99");
    if (len > 3 && memchr("IWEF", *p, 4) != NULL && fits(p + 1, end, "9999_99:99:99."))
        return 1;
    return fits(p, end, "9999/99/99_99:99:99") ||
           (len > 3 && memmem(months, sizeof months - 1, p, 3) != NULL && fits(p + 3, end, "_8_99:99:99 "));
}

int qt_is_foreign_line(const char *p, size_t len)
{
    const char *end = p + len;
    if (len > 0 && *p == '=') { /* separator line of `tail -F` */
        end -= end[-1] == '\r';
        return end - p > 8 && memcmp(p, "==> ", 4) == 0 && memcmp(end - 4, " <==", 4) == 0;
    }
    return fits(p, end, "9999-99-99_8:99:99") || fits(p, end, "999999_8:99:99") ||
           (len > 0 && (is_of_error_log(p, len) || is_of_container(p, len)));
}

/* PREFIX_REACH: maximum distance in bytes of a mark from the start of its line. MARK_REACH: maximum distance of a
 * second mark from the first mark. The limits exist because a statement of one long line may contain many marks. */
enum { PREFIX_REACH = 400, MARK_REACH = 100 };

/* Returns the start of the line, or NULL if the start is too far away. */
static const char *line_of(const char *p, const char *at)
{
    const char *least = at - p > PREFIX_REACH ? at - PREFIX_REACH : p;
    while (at > least && at[-1] != '\n')
        at--;
    return at > p && at[-1] != '\n' ? NULL : at;
}

/* Returns whether the mark follows other text in its line. The first line of a text does not count. A mark after text
 * with quotes or semicolons does not count, because such text is SQL. */
static int stands_behind(const char *p, const char *line, const char *mark)
{
    if (line == NULL || line == p || line == mark)
        return 0;
    for (const char *at = line; at < mark; at++)
        if (*at == '\'' || *at == '"' || *at == '`' || *at == ';')
            return 0;
    return 1;
}

#define MARK(text) {text, sizeof(text) - 1}

enum qt_header_mark qt_header_mark_at(const char *p, const char *end, size_t *len)
{
    static const struct {
        const char *text;
        size_t len;
    } marks[] = {
        [QT_MARK_TIME] = MARK("# Time: "),
        [QT_MARK_USER_HOST] = MARK("# User@Host: "),
        [QT_MARK_USER] = MARK("# User: "),
        [QT_MARK_THREAD_ID] = MARK("# Thread_id: "),
        [QT_MARK_SCHEMA] = MARK("# Schema: "),
        [QT_MARK_CLIENT] = MARK("# Client: "),
        [QT_MARK_QUERY_TIME] = MARK(QT_QUERY_TIME_MARK),
    };
    for (size_t i = QT_MARK_TIME; i < sizeof marks / sizeof *marks; i++)
        if ((size_t)(end - p) >= marks[i].len && p[2] == marks[i].text[2] &&
            memcmp(p, marks[i].text, marks[i].len) == 0) {
            *len = marks[i].len;
            return (enum qt_header_mark)i;
        }
    return QT_MARK_NONE;
}

/* Returns the first mark of a slow log header in a line, or NULL. */
static const char *find_header_mark(const char *line, const char *end)
{
    size_t len;
    for (const char *at = line; (at = memchr(at, '#', (size_t)(end - at))) != NULL; at++)
        if (qt_header_mark_at(at, end, &len) != QT_MARK_NONE)
            return at;
    return NULL;
}

const char *qt_find_wrapped_header(const char *p, size_t len)
{
    static const char times[] = QT_QUERY_TIME_MARK, lock[] = " Lock_time: ";
    const char *end = p + len;
    for (const char *at = p; (at = memmem(at, (size_t)(end - at), times, sizeof times - 1)) != NULL; at++) {
        const char *line = line_of(p, at), *before, *mark;
        size_t reach = end - at > MARK_REACH ? MARK_REACH : (size_t)(end - at);
        if (!stands_behind(p, line, at) || memmem(at, reach, lock, sizeof lock - 1) == NULL)
            continue;
        while ((before = line_of(p, line - 1)) != NULL && (mark = find_header_mark(before, line)) != NULL &&
               stands_behind(p, before, mark))
            line = before;
        return line;
    }
    return NULL;
}

/* Finds a time and a connection id before a command name at `at`. Returns the end of the time, or NULL if the time or
 * the connection id is missing. */
static const char *behind_time(const char *line, const char *at)
{
    const char *number = at;
    while (number > line && number[-1] >= '0' && number[-1] <= '9')
        number--;
    const char *tab = number;
    while (tab > line && tab[-1] == ' ')
        tab--;
    if (number == at || tab == line || tab[-1] != '\t')
        return NULL;
    while (tab > line && tab[-1] == '\t')
        tab--;
    return tab > line && (tab[-1] == 'Z' || (tab[-1] >= '0' && tab[-1] <= '9')) ? tab : NULL;
}

const char *qt_find_wrapped_row(const char *p, size_t len)
{
    static const char *const COMMANDS[] = {" Query", " Connect", " Execute", " Prepare", " Init DB"};
    const char *end = p + len;
    for (const char *at = p; (at = memchr(at, '\t', (size_t)(end - at))) != NULL; at++)
        for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++) {
            size_t n = strlen(COMMANDS[i]);
            if ((size_t)(at - p) <= n || memcmp(at - n, COMMANDS[i], n) != 0)
                continue;
            const char *line = line_of(p, at - n), *time = line != NULL ? behind_time(line, at - n) : NULL;
            if (time != NULL && stands_behind(p, line, time))
                return line;
        }
    return NULL;
}

/* Compares names in logs with those of the tape, without copying them. */

uint64_t qt_hash_spans(struct qt_span a, struct qt_span b) /* FNV-1a: enough to distinguish a few short texts */
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < a.len; i++)
        h = (h ^ (unsigned char)a.p[i]) * UINT64_C(0x100000001b3);
    h = (h ^ 0xff) * UINT64_C(0x100000001b3);
    for (size_t i = 0; i < b.len; i++)
        h = (h ^ (unsigned char)b.p[i]) * UINT64_C(0x100000001b3);
    return h;
}

int qt_span_is(struct qt_span span, const char *text)
{
    return span.len == strlen(text) && memcmp(span.p, text, span.len) == 0;
}

const char *qt_find_command(struct qt_span name)
{
    static const char *const names[][2] = {
        {"Quit", "quit"},
        {"Init DB", "init_db"},
        {"Ping", "ping"},
        {"Prepare", "prepare"},
        {"Execute", "execute"},
        {"Close stmt", "close_stmt"},
        {"Reset stmt", "reset_stmt"},
        {"Long Data", "long_data"},
        {"Fetch", "fetch"},
        {"Change user", "change_user"},
        {"Statistics", "statistics"},
        {"Refresh", "refresh"},
        {"Field List", "field_list"},
        {"Reset Connection", "reset_connection"},
        {"Set option", "set_option"},
        {"Processlist", "process_info"},
        {"Kill", "process_kill"},
        {"Debug", "debug"},
        {"Shutdown", "shutdown"},
        {"Binlog Dump", "binlog_dump"},
        {"Binlog Dump GTID", "binlog_dump"},
        {"Register Slave", "register_slave"},
        {"Register Replica", "register_slave"},
        {"Bulk_execute", "bulk_execute"},
        {"Connect", "connect"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (qt_span_is(name, names[i][0]))
            return names[i][1];
    return "other";
}

int qt_is_system_user(struct qt_span user)
{
    static const char *const users[] = {"SQL_SLAVE",     "system user",      "rdsadmin", "event_scheduler",
                                        "mysql.session", "mysql.infoschema", "mysql.sys"};
    for (size_t i = 0; i < sizeof users / sizeof *users; i++)
        if (qt_span_is(user, users[i]))
            return 1;
    return 0;
}
