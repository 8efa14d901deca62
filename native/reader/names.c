/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the names that logs write with those of the tape; without a copy. */
#include "reader/names.h"

#include <string.h>

uint64_t qt_hash_spans(struct qt_span a, struct qt_span b) /* FNV-1a: a few short texts, and only to tell them apart */
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
