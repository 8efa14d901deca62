/* SPDX-License-Identifier: Apache-2.0 */
#include "sql/server_functions.h"

#include <string.h>

#include "querytape.h"
#include "sql/names.h"

enum { SHORTEST = 7 };

static const char *const REPLICATION[] = {"group_replication_set_as_primary",
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

static const char *const INSTANCE[] = {"keyring_key_generate",
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
    if (qt_name_is_any(name, REPLICATION))
        return QT_DANGER_REPLICATION;
    return qt_name_is_any(name, INSTANCE) ? QT_DANGER_INSTANCE : QT_DANGER_NONE;
}
