-- SPDX-License-Identifier: Apache-2.0
-- Macros of a plan. They decide whether an event is sent, and to which target. exclusion_reason returns why an event is
-- not sent (NULL = the event is sent).
--
-- Input: the macros of schemas/names.sql and schemas/event_macros.sql, and these variables:
-- - allowed: the names of the dangers that the user allows
-- - allow_writes, split, copies
-- - sends_sql_prepare: whether the tape contains the commands of clients, and not a server's log of them
--
-- Run by hand: `database.open_planner(plan)` in Python returns a connection that has these macros.

-- Returns why a statement is not sent, based on its text. A read-only server refuses locking reads (error 1792).
CREATE OR REPLACE TEMP MACRO exclude_statement(class, actions, flags) AS CASE
    WHEN has_flag(flags, 'truncated') THEN 'truncated'
    WHEN has_flag(flags, 'redacted') THEN 'redacted'
    WHEN has_flag(flags, 'routine') THEN 'routine'
    WHEN has_flag(flags, 'sql_prepare') AND NOT (getvariable('sends_sql_prepare') AND getvariable('allow_writes'))
        THEN 'sql_prepare'
    WHEN class IS NULL THEN 'no_statement'
    WHEN danger_of(flags) <> 'none' AND NOT list_contains(getvariable('allowed'), danger_of(flags))
        AND NOT (getvariable('allow_writes') AND danger_of(flags) IN ('set_session_unsafe', 'lock_tables'))
        THEN 'danger:' || danger_of(flags)
    WHEN class = 'read' AND NOT getvariable('allow_writes') AND has_action(actions, 'locking_read') THEN 'locking_read'
    WHEN class IN ('read', 'transaction', 'session') OR getvariable('allow_writes') THEN NULL
    WHEN class = 'admin' AND danger_of(flags) <> 'none' THEN NULL
    WHEN class IN ('write', 'ddl', 'admin') THEN class
    ELSE 'unknown_class'
END;

-- True if the command is sent as text. An Execute of a server log is a statement that contains its values.
CREATE OR REPLACE TEMP MACRO sent_as_text(command, flags, stmt) AS
    command = 'query' OR (command = 'execute' AND stmt IS NULL AND NOT has_flag(flags, 'unbound'));

-- Returns why a command about a prepared statement is not sent, if its text is not the reason. If a PREPARE is
-- excluded, events.sql excludes all commands about its statement. A server log does not number prepared statements. The
-- log contains the text that each EXECUTE ran.
CREATE OR REPLACE TEMP MACRO exclude_prepared(command, flags, stmt) AS CASE
    WHEN stmt IS NULL OR has_flag(flags, 'unbound')
        THEN CASE WHEN command IN ('close_stmt', 'reset_stmt') THEN 'nothing_to_close'
            WHEN command IN ('prepare', 'long_data', 'fetch') AND NOT has_flag(flags, 'unbound') AND NOT getvariable('sends_sql_prepare')
                THEN 'nothing_to_prepare'
            ELSE 'not_prepared' END
    WHEN has_flag(flags, 'truncated') THEN 'truncated'
END;

-- Calls `exclude_statement` only once. DuckDB binds and optimizes a macro at each call, and this takes most of the
-- planning time of a small tape. A statement that is sent as text cannot have a logged `?` as a value.
CREATE OR REPLACE TEMP MACRO exclusion_reason(command, class, actions, flags, db, stmt) AS CASE
    WHEN has_flag(flags, 'system') THEN 'system'
    WHEN sent_as_text(command, flags, stmt) AND has_flag(flags, 'placeholder') THEN 'placeholder'
    WHEN sent_as_text(command, flags, stmt)
        OR (command IN ('prepare', 'execute', 'bulk_execute') AND stmt IS NOT NULL AND NOT has_flag(flags, 'unbound'))
        THEN exclude_statement(class, actions, flags)
    WHEN command IN ('quit', 'ping', 'reset_connection', 'change_user', 'set_option') THEN NULL
    WHEN command = 'process_kill'
        THEN CASE WHEN list_contains(getvariable('allowed'), 'kill') THEN NULL ELSE 'danger:kill' END
    WHEN command = 'connect' THEN 'connect_by_replayer'
    WHEN command = 'init_db' THEN CASE WHEN coalesce(db, '') = '' THEN 'no_statement' END
    WHEN command IN ('prepare', 'execute', 'bulk_execute', 'fetch', 'long_data', 'close_stmt', 'reset_stmt')
        THEN exclude_prepared(command, flags, stmt)
    ELSE 'unsupported_command'
END;

-- True if the read target may answer the statement. These statements go to the main target: reads that take locks,
-- reads that depend on the state of their connection, and statements that read or write a file of the server.
CREATE OR REPLACE TEMP MACRO reads_anywhere(class, actions, flags) AS
    class = 'read' AND NOT has_action(actions, 'locking_read') AND NOT has_action(actions, 'session_dependent')
    AND danger_of(flags) = 'none';

CREATE OR REPLACE TEMP MACRO read_target_flags(command, class, actions, flags) AS CASE
    WHEN NOT getvariable('split') THEN 0
    WHEN command IN ('init_db', 'reset_connection', 'change_user', 'set_option') THEN plan_flag('for_both')
    WHEN command = 'query' AND class = 'session' THEN plan_flag('for_both')
    WHEN command IN ('long_data', 'reset_stmt', 'close_stmt') THEN plan_flag('for_both')
    WHEN command = 'prepare' AND reads_anywhere(class, actions, flags) THEN plan_flag('for_both')
    WHEN command IN ('query', 'execute') AND reads_anywhere(class, actions, flags) THEN plan_flag('for_read_target')
    ELSE 0
END;

-- Bit 42 (QT_PLAN_FAILED): the command failed on the tape.
CREATE OR REPLACE TEMP MACRO failed_flag(errno) AS CASE WHEN coalesce(errno > 0, false) THEN plan_flag('failed') ELSE 0 END;

-- Returns the id of the collation that COM_CHANGE_USER requests. `params` is the letter C and the id. names_of returns
-- the argument of SET NAMES for this id (NULL = unknown).
CREATE OR REPLACE TEMP MACRO collation_of(params) AS
    CASE WHEN octet_length(params) = 3 AND hex(params)[1:2] = '43'
        THEN TRY_CAST('0x' || substr(hex(params), 5, 2) || substr(hex(params), 3, 2) AS INTEGER) END;
CREATE OR REPLACE TEMP MACRO names_of(id) AS getvariable('collations')[id];

-- The numbers of the copies of each event.
CREATE OR REPLACE TEMP VIEW every_clone AS SELECT range::INTEGER AS clone FROM range(getvariable('copies')::BIGINT);
