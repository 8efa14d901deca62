/* SPDX-License-Identifier: Apache-2.0 */
/* Variables that matter: those that change what a session may do, where its writes go, and what it writes to logs. */
#include "sql/assign.h"

#include "sql/names.h"
#include "sql/secrets.h"

static const char *const READ_WRITE[] = {"transaction_read_only", "tx_read_only", NULL};

static const char *const UNSAFE[] = {"sql_log_bin",
                                     "sql_log_off",
                                     "wsrep_on",
                                     "binlog_format",
                                     "pseudo_slave_mode",
                                     "pseudo_replica_mode",
                                     "pseudo_thread_id",
                                     "skip_replication",
                                     "debug",
                                     "debug_dbug",
                                     "debug_sync",
                                     "session_track_gtids",
                                     "binlog_row_image",
                                     NULL};

static const char *const REPLICATION[] = {"gtid_next",
                                          "gtid_domain_id",
                                          "gtid_seq_no",
                                          "gtid_purged",
                                          "gtid_slave_pos",
                                          "server_id",
                                          "sql_slave_skip_counter",
                                          "sql_replica_skip_counter",
                                          NULL};

void qt_assigned(struct qt_classifier *c)
{
    c->left = 0;
    if (c->name.len == 0)
        return;
    qt_secret_assigned(c);
    if (c->name.kind == QT_T_VARIABLE)
        return;
    if (qt_name_is(&c->name, "timestamp"))
        c->flags |= QT_F_TIMESTAMP;
    else if (qt_name_is(&c->name, "autocommit"))
        c->awaits = c->scope == QT_SCOPE_SESSION && c->words[1] != QT_K_statement;
    else if (qt_name_is_any(&c->name, READ_WRITE))
        c->seen |= QT_SEEN_UNSAFE | QT_SEEN_READ_WRITE;
    else if (qt_name_is_any(&c->name, UNSAFE))
        c->seen |= QT_SEEN_UNSAFE;
    else if (qt_name_is_any(&c->name, REPLICATION))
        c->seen |= QT_SEEN_REPLICATION;
}
