/* SPDX-License-Identifier: Apache-2.0 */
/* Lists variables that change a session's rights, its logging, or the destination of its writes. Lists functions that
 * act on the server itself. */
#include "sql/named_dangers.h"

#include <string.h>

#include "querytape.h"
#include "sql/names.h"
#include "sql/secrets.h"

static const char *const READ_WRITE_VARIABLES[] = {"transaction_read_only", "tx_read_only", NULL};

static const char *const UNSAFE_VARIABLES[] = {"sql_log_bin",
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

static const char *const REPLICATION_VARIABLES[] = {"gtid_next",
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
    else if (qt_name_is_any(&c->name, READ_WRITE_VARIABLES))
        c->seen |= QT_SEEN_UNSAFE | QT_SEEN_READ_WRITE;
    else if (qt_name_is_any(&c->name, UNSAFE_VARIABLES))
        c->seen |= QT_SEEN_UNSAFE;
    else if (qt_name_is_any(&c->name, REPLICATION_VARIABLES))
        c->seen |= QT_SEEN_REPLICATION;
}

enum { SHORTEST = 7 };

static const char *const REPLICATION_FUNCTIONS[] = {"group_replication_set_as_primary",
                                                    "group_replication_switch_to_single_primary_mode",
                                                    "group_replication_switch_to_multi_primary_mode",
                                                    "group_replication_set_write_concurrency",
                                                    "group_replication_set_communication_protocol",
                                                    "group_replication_enable_member_action",
                                                    "group_replication_disable_member_action",
                                                    "group_replication_reset_member_actions",
                                                    "asynchronous_connection_failover_add_source",
                                                    "asynchronous_connection_failover_delete_source",
                                                    "asynchronous_connection_failover_add_managed",
                                                    "asynchronous_connection_failover_delete_managed",
                                                    "asynchronous_connection_failover_reset",
                                                    NULL};

static const char *const INSTANCE_FUNCTIONS[] = {"keyring_key_generate",
                                                 "keyring_key_store",
                                                 "keyring_key_remove",
                                                 "keyring_aws_rotate_cmk",
                                                 "keyring_aws_rotate_keys",
                                                 "keyring_hashicorp_update_config",
                                                 "audit_log_rotate",
                                                 "audit_log_encryption_password_set",
                                                 "audit_log_filter_flush",
                                                 "audit_log_filter_set_filter",
                                                 "audit_log_filter_remove_filter",
                                                 "audit_log_filter_set_user",
                                                 "audit_log_filter_remove_user",
                                                 "mysql_firewall_flush_status",
                                                 "set_firewall_mode",
                                                 "set_firewall_group_mode",
                                                 "firewall_group_enlist",
                                                 "firewall_group_delist",
                                                 "version_tokens_set",
                                                 "version_tokens_edit",
                                                 "version_tokens_delete",
                                                 "version_tokens_lock_exclusive",
                                                 "version_tokens_unlock",
                                                 "service_get_write_locks",
                                                 "service_release_locks",
                                                 "gen_dictionary_load",
                                                 "gen_dictionary_drop",
                                                 "masking_dictionary_remove",
                                                 "masking_dictionary_term_add",
                                                 "masking_dictionary_term_remove",
                                                 "flush_rewrite_rules",
                                                 "sys_exec",
                                                 "sys_eval",
                                                 "sys_set",
                                                 NULL};

int qt_server_function(const struct qt_token *name)
{
    if (name->len < SHORTEST || memchr(name->p, '_', name->len) == NULL)
        return QT_DANGER_NONE;
    if (qt_name_is_any(name, REPLICATION_FUNCTIONS))
        return QT_DANGER_REPLICATION;
    return qt_name_is_any(name, INSTANCE_FUNCTIONS) ? QT_DANGER_INSTANCE : QT_DANGER_NONE;
}
