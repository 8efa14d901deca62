-- SPDX-License-Identifier: Apache-2.0
-- Made by `make names` from schemas/names.toml, which says what each means. Do not edit.

SET VARIABLE flag_bits = MAP {
    'time_inferred': 1,
    'duration_cut': 2,
    'redacted': 4,
    'truncated': 8,
    'routine': 16,
    'use': 32,
    'timestamp': 64,
    'placeholder': 128,
    'system': 256,
    'sql_prepare': 512,
    'clock_guessed': 1024,
    'killed': 2048,
    'unbound': 4096,
    'carried': 8192
};
SET VARIABLE plan_flag_bits = MAP {
    'for_read_target': 1099511627776,
    'for_both': 2199023255552,
    'failed': 4398046511104
};
SET VARIABLE action_bits = MAP {
    'begin': 1,
    'commit': 2,
    'rollback': 4,
    'rollback_to': 8,
    'savepoint': 16,
    'release_savepoint': 32,
    'implicit_commit': 64,
    'autocommit_off': 128,
    'autocommit_on': 256,
    'xa': 512,
    'snapshot': 1024,
    'temporary_table': 2048,
    'lock_tables': 4096,
    'unlock_tables': 8192,
    'locking_read': 16384,
    'asks_time': 32768,
    'random': 65536,
    'session_dependent': 131072,
    'asks_server': 262144,
    'asks_diagnostics': 524288,
    'many_rows': 1048576
};
SET VARIABLE property_bits = MAP {
    'adds_rows': 1,
    'asks_rows': 2,
    'copies_rows': 4,
    'hides_ids': 8,
    'calls_procedure': 16,
    'shows': 32,
    'explains_write': 64,
    'explainable': 128,
    'prepares_text': 256,
    'prepares_xa': 512,
    'ends_xa': 1024,
    'takes_user_lock': 2048,
    'frees_user_lock': 4096,
    'looks_at_user_lock': 8192,
    'sets_id_steps_global': 16384,
    'sets_id_steps_back': 32768,
    'order_by': 65536,
    'order_by_random': 131072,
    'group_by': 262144,
    'limit': 524288,
    'limit_inside': 1048576,
    'concat_unsorted': 2097152,
    'chance': 4194304,
    'sysdate': 8388608,
    'time_in_condition': 16777216,
    'chance_in_condition': 33554432,
    'session_in_condition': 67108864,
    'sorts': 134217728,
    'joins': 268435456,
    'selects_all': 536870912,
    'changes_schema': 1073741824
};
SET VARIABLE danger_names = MAP {
    0: 'none',
    1: 'shutdown',
    2: 'kill',
    3: 'set_global',
    4: 'accounts',
    5: 'replication',
    6: 'load_data',
    7: 'into_file',
    8: 'plugins',
    9: 'flush',
    10: 'table_maintenance',
    11: 'instance',
    12: 'set_session_unsafe',
    13: 'lock_tables'
};
SET VARIABLE command_codes = MAP {
    'query': 1,
    'prepare': 2,
    'execute': 3,
    'close_stmt': 4,
    'reset_stmt': 5,
    'long_data': 6,
    'fetch': 7,
    'init_db': 8,
    'ping': 9,
    'reset_connection': 10,
    'change_user': 11,
    'quit': 12,
    'connect': 13,
    'statistics': 14,
    'field_list': 15,
    'refresh': 16,
    'process_info': 17,
    'process_kill': 18,
    'set_option': 19,
    'debug': 20,
    'shutdown': 21,
    'binlog_dump': 22,
    'register_slave': 23,
    'bulk_execute': 24,
    'other': 25
};
SET VARIABLE class_codes = MAP {
    'read': 0,
    'write': 1,
    'transaction': 2,
    'session': 3,
    'ddl': 4,
    'admin': 5
};
SET VARIABLE result_reasons = [
    'limit_unsorted',
    'asks_session',
    'asks_server',
    'asks_time',
    'group_by_unsorted',
    'concat_unsorted',
    'ties_under_limit',
    'unsorted',
    'ties',
    'perhaps_race',
    'perhaps_limit_unsorted',
    'perhaps_limit_inside',
    'perhaps_chance_in_condition',
    'perhaps_chance_with_columns',
    'perhaps_session_in_condition',
    'perhaps_session_with_columns',
    'perhaps_time_in_condition',
    'perhaps_time_with_columns',
    'chance',
    'sorted_by_chance',
    'write_not_sent',
    'write_failed',
    'write_changed_others',
    'session_lost',
    'set_failed',
    'server_writes'
];

CREATE OR REPLACE TEMP MACRO has_flag(flags, name) AS (flags & getvariable('flag_bits')[name]) <> 0;
CREATE OR REPLACE TEMP MACRO has_action(actions, name) AS
    (coalesce(actions, 0) & getvariable('action_bits')[name]) <> 0;
CREATE OR REPLACE TEMP MACRO has_property(properties, name) AS
    (coalesce(properties, 0) & getvariable('property_bits')[name]) <> 0;
CREATE OR REPLACE TEMP MACRO plan_flag(name) AS getvariable('plan_flag_bits')[name];
-- The name of the danger; a number that is not known here is 'unknown'.
CREATE OR REPLACE TEMP MACRO danger_of(flags) AS
    coalesce(getvariable('danger_names')[((flags >> 16) & 255)::INTEGER], 'unknown');
-- The number of a copy of a session. Copy 0 is the session itself.
CREATE OR REPLACE TEMP MACRO copy_of(session, clone) AS session + (clone::BIGINT << 40);
-- filtered: the user's choice excluded it. skipped: the plan had to omit it.
CREATE OR REPLACE TEMP MACRO exclusion_status(reason) AS
    CASE WHEN reason IN ('write', 'ddl', 'admin', 'locking_read', 'filter:session', 'filter:time', 'filter:event', 'filter:resumed', 'filter:failed_in', 'filter:slower_in') THEN 'filtered' ELSE 'skipped' END;
