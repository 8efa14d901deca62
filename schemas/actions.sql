-- SPDX-License-Identifier: Apache-2.0
-- Does a statement do this, or depend on it? has_action(actions, name): one of the names of codes.py: ACTIONS, among the bits
-- of the column `actions` of a tape.
CREATE OR REPLACE TEMP MACRO has_action(actions, name) AS (coalesce(actions, 0) & MAP {
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
        'asks_server': 262144
    }[name]) <> 0;
