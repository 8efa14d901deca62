/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   2018-09-07T18:45:40.098124+08:00<TAB>    7 Query<TAB>SELECT 1          MySQL 5.7 and later: every row
 *   070101 10:00:00<TAB>    7 Query<TAB>SELECT 1                           MariaDB, MySQL to 5.6: a new second
 *   <TAB><TAB>    7 Init DB<TAB>shop                                       the same second
 *   100211  0:55:24      51 Query       SELECT 1                           5.0, copied without tabs: the argument in column 12
 *
 * A line of a statement can look like a row: only what begins as the file's other rows do, with a number and a command
 * that servers know, is one. Sources: log.cc of MySQL 5.0 to 9 and MariaDB 10.11.
 */
#include <string.h>

#include "general.h"

enum { PADDED = 12 };

static const char *const commands[] = {
    "Query",       "Execute",     "Prepare",      "Connect",  "Quit",       "Init DB",     "Close stmt",     "Reset stmt",
    "Long Data",   "Fetch",       "Field List",   "Ping",     "Statistics", "Processlist", "Kill",           "Change user",
    "Refresh",     "Binlog Dump", "Register Slave", "Connect Out", "Reset Connection", "Daemon", "Shutdown", "Debug",
    "Set option",  "Create DB",   "Drop DB",      "Table Dump", "Delayed insert", "Sleep", "Time", "Binlog Dump GTID",
    "Register Replica", "Bulk_execute", "Error", "Slave_worker", "Slave_IO", "Slave_SQL", "clone",
};

static size_t command_length(const char *p, size_t n)
{
    size_t longest = 0;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        size_t len = strlen(commands[i]);
        if (len > longest && len <= n && *p == commands[i][0] && memcmp(p, commands[i], len) == 0 &&
            (len == n || p[len] == '\t' || p[len] == ' '))
            longest = len;
    }
    return longest;
}

/* What stands before the thread id: a time, two tabs, or (without tabs) blanks. Returns its length, 0 = none of them. */
static size_t prefix(const char *p, size_t n, enum qt_general_style style, struct qt_logtime *time)
{
    *time = (struct qt_logtime){QT_LOGTIME_BAD, 0, 0};
    if (n < 4)
        return 0;
    if (*p >= '0' && *p <= '9') {
        *time = qt_logtime_parse(p, n < 40 ? n : 40);
        int fits = time->kind == QT_LOGTIME_UTC ? style != QT_GENERAL_OLD : style != QT_GENERAL_ISO;
        return time->kind != QT_LOGTIME_BAD && fits && time->length < n ? time->length : 0;
    }
    if (style == QT_GENERAL_ISO)
        return 0;
    if (p[0] == '\t' && p[1] == '\t')
        return 2;
    size_t blanks = 0;
    while (blanks < n && p[blanks] == ' ')
        blanks++;
    return blanks >= 15 && blanks < n ? blanks : 0;
}

int qt_general_row(const char *p, size_t n, enum qt_general_style style, struct qt_general_row *out)
{
    size_t at = prefix(p, n, style, &out->time), digits = 0;
    if (at == 0)
        return 0;
    if (out->time.kind != QT_LOGTIME_BAD && at < n && p[at] == '\t')
        at++;
    while (at < n && p[at] == ' ')
        at++;
    out->thread_id = 0;
    for (; at < n && p[at] >= '0' && p[at] <= '9' && digits < 18; at++, digits++)
        out->thread_id = out->thread_id * 10 + (p[at] - '0');
    if (digits == 0 || at >= n || p[at] != ' ')
        return 0;
    at++;
    size_t len = command_length(p + at, n - at);
    if (len == 0)
        return 0;
    out->command = (struct qt_span){p + at, len};
    size_t end = at + len;
    if (end < n && p[end] == '\t') {
        end++;
    } else {
        size_t column = at + (len < PADDED ? PADDED : len + 1);
        while (end < n && end < column && p[end] == ' ')
            end++;
    }
    out->argument = (struct qt_span){p + end, n - end};
    return 1;
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

void qt_general_account(struct qt_span argument, struct qt_span *user, struct qt_span *host, struct qt_span *db)
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
