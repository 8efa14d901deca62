-- SPDX-License-Identifier: Apache-2.0
-- Macros of a plan: why an event is not sent (exclusion_reason; NULL = it is sent), and to which target it may go.
-- Inputs: macros of schemas/names.sql and schemas/event_macros.sql; variables allowed (names of dangers that the
-- user allows), allow_writes, sends_sql_prepare (the tape has what clients sent, not what a server logs of it),
-- split, copies.
-- By hand: `database.open_planner(plan)` in Python returns a connection that has them.

-- Why a statement is not sent, from what is known about its text. A server in read-only mode refuses locking reads (1792).
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

-- Is the command sent as text? A log's Execute is the statement with its values.
CREATE OR REPLACE TEMP MACRO sent_as_text(command, flags, stmt) AS
    command = 'query' OR (command = 'execute' AND stmt IS NULL AND NOT has_flag(flags, 'unbound'));

-- Why a command about a prepared statement is not sent, where its text is no reason. With a PREPARE that is excluded all about
-- its statement is: events.sql. A server's log numbers no statements; it has what each EXECUTE ran as text.
CREATE OR REPLACE TEMP MACRO exclude_prepared(command, flags, stmt) AS CASE
    WHEN stmt IS NULL OR has_flag(flags, 'unbound')
        THEN CASE WHEN command IN ('close_stmt', 'reset_stmt') THEN 'nothing_to_close'
            WHEN command IN ('prepare', 'long_data', 'fetch') AND NOT has_flag(flags, 'unbound') AND NOT getvariable('sends_sql_prepare')
                THEN 'nothing_to_prepare'
            ELSE 'not_prepared' END
    WHEN has_flag(flags, 'truncated') THEN 'truncated'
END;

-- `exclude_statement` stands here once: DuckDB binds and optimizes a macro wherever it is named, which is most of what
-- planning a small tape takes. Sent as text, a logged `?` is no value.
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

-- Which target may answer it. A read that locks, that depends on what its connection did or holds, or that
-- reads or writes a file of the server is the target's.
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

-- The collation that COM_CHANGE_USER asks for: the letter C and its id, and what SET NAMES takes for it (NULL: not known).
CREATE OR REPLACE TEMP MACRO collation_of(params) AS
    CASE WHEN octet_length(params) = 3 AND hex(params)[1:2] = '43'
        THEN TRY_CAST('0x' || substr(hex(params), 5, 2) || substr(hex(params), 3, 2) AS INTEGER) END;
CREATE OR REPLACE TEMP MACRO names_of(id) AS getvariable('collations')[id];

-- Numbers of the copies of each event.
CREATE OR REPLACE TEMP VIEW every_clone AS SELECT range::INTEGER AS clone FROM range(getvariable('copies')::BIGINT);
