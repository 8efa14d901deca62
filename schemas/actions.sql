-- SPDX-License-Identifier: Apache-2.0
-- Does a statement do this, or depend on it? has_action(actions, name): one of the names of codes.py: ACTIONS, among the bits
-- of the column `actions` of a tape.
CREATE OR REPLACE TEMP MACRO has_action(actions, name) AS (coalesce(actions, 0) & CASE name
        WHEN 'begin' THEN 1
        WHEN 'commit' THEN 2
        WHEN 'rollback' THEN 4
        WHEN 'rollback_to' THEN 8
        WHEN 'savepoint' THEN 16
        WHEN 'release_savepoint' THEN 32
        WHEN 'implicit_commit' THEN 64
        WHEN 'autocommit_off' THEN 128
        WHEN 'autocommit_on' THEN 256
        WHEN 'xa' THEN 512
        WHEN 'snapshot' THEN 1024
        WHEN 'temporary_table' THEN 2048
        WHEN 'lock_tables' THEN 4096
        WHEN 'unlock_tables' THEN 8192
        WHEN 'locking_read' THEN 16384
        WHEN 'asks_time' THEN 32768
        WHEN 'random' THEN 65536
        WHEN 'session_dependent' THEN 131072
        WHEN 'asks_server' THEN 262144
    END) <> 0;
