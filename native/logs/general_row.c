/* SPDX-License-Identifier: Apache-2.0 */
/* 2018-09-07T18:45:40.098124+08:00<TAB>    7 Query<TAB>SELECT 1          MySQL 5.7 and later: every row
 *   070101 10:00:00<TAB>    7 Query<TAB>SELECT 1                           MariaDB, MySQL to 5.6: a new second
 *   <TAB><TAB>    7 Init DB<TAB>shop                                       the same second
 *   100211  0:55:24      51 Query       SELECT 1                           copied without tabs: any number of blanks
 *          51 Query SELECT 1                                               the same second in such a copy
 *
 * A line inside a statement can look like a row. A line counts as a row only if it begins like the file's other rows,
 * with a thread id and a known command.
 *
 * Sources: log.cc of MySQL 5.0 to 9 and MariaDB 10.11. */
#include <string.h>

#include "logs/general_row.h"

enum { MIN_BLANKS = 2 };

/* A longer name comes before a shorter name that is its prefix. */
static const struct qt_general_command commands[] = {
    {"Query", sizeof "Query" - 1, "query", 1},
    {"Execute", sizeof "Execute" - 1, "execute", 1},
    {"Prepare", sizeof "Prepare" - 1, "prepare", 1},
    {"Connect", sizeof "Connect" - 1, "connect", 0},
    {"Quit", sizeof "Quit" - 1, "quit", 0},
    {"Init DB", sizeof "Init DB" - 1, "init_db", 0},
    {"Close stmt", sizeof "Close stmt" - 1, "close_stmt", 0},
    {"Reset stmt", sizeof "Reset stmt" - 1, "reset_stmt", 0},
    {"Long Data", sizeof "Long Data" - 1, "long_data", 0},
    {"Fetch", sizeof "Fetch" - 1, "fetch", 0},
    {"Field List", sizeof "Field List" - 1, "field_list", 0},
    {"Ping", sizeof "Ping" - 1, "ping", 0},
    {"Statistics", sizeof "Statistics" - 1, "statistics", 0},
    {"Processlist", sizeof "Processlist" - 1, "process_info", 0},
    {"Kill", sizeof "Kill" - 1, "process_kill", 0},
    {"Change user", sizeof "Change user" - 1, "change_user", 0},
    {"Refresh", sizeof "Refresh" - 1, "refresh", 0},
    {"Binlog Dump GTID", sizeof "Binlog Dump GTID" - 1, "binlog_dump", 0},
    {"Binlog Dump", sizeof "Binlog Dump" - 1, "binlog_dump", 0},
    {"Register Slave", sizeof "Register Slave" - 1, "register_slave", 0},
    {"Register Replica", sizeof "Register Replica" - 1, "register_slave", 0},
    {"Connect Out", sizeof "Connect Out" - 1, "other", 0},
    {"Reset Connection", sizeof "Reset Connection" - 1, "reset_connection", 0},
    {"Daemon", sizeof "Daemon" - 1, "other", 0},
    {"Shutdown", sizeof "Shutdown" - 1, "shutdown", 0},
    {"Debug", sizeof "Debug" - 1, "debug", 0},
    {"Set option", sizeof "Set option" - 1, "set_option", 0},
    {"Create DB", sizeof "Create DB" - 1, "other", 0},
    {"Drop DB", sizeof "Drop DB" - 1, "other", 0},
    {"Table Dump", sizeof "Table Dump" - 1, "other", 0},
    {"Delayed insert", sizeof "Delayed insert" - 1, "other", 0},
    {"Sleep", sizeof "Sleep" - 1, "other", 0},
    {"Time", sizeof "Time" - 1, "other", 0},
    {"Bulk_execute", sizeof "Bulk_execute" - 1, "bulk_execute", 0},
    {"Error", sizeof "Error" - 1, "other", 0},
    {"Slave_worker", sizeof "Slave_worker" - 1, "other", 0},
    {"Slave_IO", sizeof "Slave_IO" - 1, "other", 0},
    {"Slave_SQL", sizeof "Slave_SQL" - 1, "other", 0},
    {"clone", sizeof "clone" - 1, "other", 0},
};

static const struct qt_general_command *command_at(const char *p, size_t n)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const struct qt_general_command *c = &commands[i];
        if (*p == c->name[0] && c->len <= n && memcmp(p, c->name, c->len) == 0 &&
            (c->len == n || p[c->len] == '\t' || p[c->len] == ' '))
            return c;
    }
    return NULL;
}

/* Returns the length of the text before the thread id: a time, two tabs or, in a copy without tabs, blanks. Returns 0
 * if none of these is found. */
static size_t prefix(const char *p, size_t n, enum qt_general_style style, struct qt_logtime *time)
{
    *time = (struct qt_logtime){QT_LOGTIME_BAD, 0, 0};
    if (n < 4)
        return 0;
    if (*p >= '0' && *p <= '9') {
        *time = qt_logtime_parse(p, n < 40 ? n : 40);
        int fits = time->kind == QT_LOGTIME_UTC ? style < QT_GENERAL_OLD : style != QT_GENERAL_ISO;
        return time->kind != QT_LOGTIME_BAD && fits && time->length < n ? time->length : 0;
    }
    if (style == QT_GENERAL_ISO)
        return 0;
    if (p[0] == '\t' && p[1] == '\t')
        return 2;
    size_t blanks = 0;
    while (blanks < n && p[blanks] == ' ')
        blanks++;
    return style != QT_GENERAL_TABBED && blanks >= MIN_BLANKS && blanks < n ? blanks : 0;
}

int qt_general_parse_row(const char *p, size_t n, enum qt_general_style style, struct qt_general_row *out)
{
    size_t at = prefix(p, n, style, &out->time), digits = 0;
    if (at == 0)
        return 0;
    out->tabbed = p[at - 1] == '\t';
    if (out->time.kind != QT_LOGTIME_BAD && at < n && p[at] == '\t')
        out->tabbed = 1, at++;
    while (at < n && p[at] == ' ')
        at++;
    out->thread_id = 0;
    for (; at < n && p[at] >= '0' && p[at] <= '9' && digits < 18; at++, digits++)
        out->thread_id = out->thread_id * 10 + (p[at] - '0');
    if (digits == 0 || at >= n || p[at] != ' ')
        return 0;
    at++;
    out->command = at < n ? command_at(p + at, n - at) : NULL;
    if (out->command == NULL)
        return 0;
    size_t end = at + out->command->len;
    if (end < n && p[end] == '\t') {
        out->tabbed = 1;
        end++;
    } else {
        while (end < n && p[end] == ' ')
            end++;
    }
    out->argument = (struct qt_span){p + end, n - end};
    return 1;
}

enum qt_general_style qt_general_style_after(enum qt_general_style style, const struct qt_general_row *row)
{
    if (row->time.kind == QT_LOGTIME_UTC)
        return QT_GENERAL_ISO;
    if (row->tabbed)
        return QT_GENERAL_TABBED;
    return row->time.kind != QT_LOGTIME_BAD && style == QT_GENERAL_ANY ? QT_GENERAL_OLD : style;
}

static struct qt_span before(struct qt_span text, const char *mark, struct qt_span *rest)
{
    void *at = memmem(text.p, text.len, mark, strlen(mark));
    if (at == NULL) {
        *rest = (struct qt_span){NULL, 0};
        return text;
    }
    struct qt_span head = {text.p, (size_t)((char *)at - text.p)};
    *rest = (struct qt_span){head.p + head.len + strlen(mark), text.len - head.len - strlen(mark)};
    return head;
}

void qt_general_parse_account(struct qt_span argument, struct qt_span *user, struct qt_span *host, struct qt_span *db)
{
    struct qt_span rest, tail;
    *user = *host = *db = (struct qt_span){NULL, 0};
    struct qt_span account = before(argument, " on ", &rest);
    if (rest.p == NULL && argument.len >= 3 && memcmp(argument.p + argument.len - 3, " on", 3) == 0) {
        account.len = argument.len - 3;
        rest = (struct qt_span){argument.p + argument.len, 0};
    }
    const char *sign = account.len > 0 ? memrchr(account.p, '@', account.len) : NULL;
    if (rest.p == NULL || sign == NULL)
        return;
    *user = (struct qt_span){account.p, (size_t)(sign - account.p)};
    *host = (struct qt_span){sign + 1, account.len - user->len - 1};
    *host = before(*host, " as ", &tail);
    *db = before(rest, " using ", &tail);
    if (tail.p == NULL && rest.len >= 6 && memcmp(rest.p, "using ", 6) == 0)
        db->len = 0;
    while (db->len > 0 && db->p[db->len - 1] == ' ')
        db->len--;
}
