-- SPDX-License-Identifier: Apache-2.0
-- What is done with an event: NULL = it is sent, else the reason why it is not (column `reason` of window_events).
-- Variables: flag_bits (name -> bit), danger_names (code -> name), danger_shift, allowed (names of dangers asked for),
-- allow_writes, commands and classes (name -> number for the engine), copies.

CREATE OR REPLACE TEMP MACRO has_flag(flags, name) AS (flags & getvariable('flag_bits')[name]) <> 0;

CREATE OR REPLACE TEMP MACRO danger_of(flags) AS
    coalesce(getvariable('danger_names')[((flags >> getvariable('danger_shift')) & 255)::INTEGER], 'unknown');

-- Why a statement is not sent, from what is known about its text.
CREATE OR REPLACE TEMP MACRO hold_statement(class, flags) AS CASE
    WHEN has_flag(flags, 'truncated') THEN 'truncated'
    WHEN has_flag(flags, 'redacted') THEN 'redacted'
    WHEN has_flag(flags, 'routine') THEN 'routine'
    WHEN has_flag(flags, 'sql_prepare') THEN 'sql_prepare'
    WHEN class IS NULL THEN 'no_statement'
    WHEN danger_of(flags) <> 'none' AND NOT list_contains(getvariable('allowed'), danger_of(flags))
        AND NOT (getvariable('allow_writes') AND danger_of(flags) IN ('set_session_unsafe', 'lock_tables'))
        THEN 'danger:' || danger_of(flags)
    WHEN class IN ('read', 'transaction', 'session') OR getvariable('allow_writes') THEN NULL
    WHEN class = 'admin' AND danger_of(flags) <> 'none' THEN NULL
    WHEN class IN ('write', 'ddl', 'admin') THEN class
    ELSE 'unknown_class'
END;

-- Sent as text, a logged `?` is no value.
CREATE OR REPLACE TEMP MACRO hold_text(class, flags) AS
    CASE WHEN has_flag(flags, 'placeholder') THEN 'placeholder' ELSE hold_statement(class, flags) END;

-- Why a command about a prepared statement is not sent, from itself alone. One whose PREPARE is held is held with it: show_window.
CREATE OR REPLACE TEMP MACRO hold_prepared(command, class, flags, stmt) AS CASE
    WHEN stmt IS NULL OR has_flag(flags, 'unbound') THEN 'not_prepared'
    WHEN command IN ('prepare', 'execute', 'bulk_execute') THEN hold_statement(class, flags)
    WHEN has_flag(flags, 'truncated') THEN 'truncated'
END;

CREATE OR REPLACE TEMP MACRO hold(command, class, flags, db, stmt) AS CASE
    WHEN has_flag(flags, 'system') THEN 'system'
    WHEN command = 'query' THEN hold_text(class, flags)
    WHEN command IN ('quit', 'ping', 'reset_connection', 'change_user', 'set_option') THEN NULL
    WHEN command = 'process_kill'
        THEN CASE WHEN list_contains(getvariable('allowed'), 'kill') THEN NULL ELSE 'danger:kill' END
    WHEN command = 'connect' THEN 'own_connect'
    WHEN command = 'init_db' THEN CASE WHEN coalesce(db, '') = '' THEN 'no_statement' END
    -- A log's Execute is the statement with its values: sent as text.
    WHEN command = 'execute' AND stmt IS NULL AND NOT has_flag(flags, 'unbound') THEN hold_text(class, flags)
    WHEN command IN ('prepare', 'execute', 'bulk_execute', 'fetch', 'long_data', 'close_stmt', 'reset_stmt')
        THEN hold_prepared(command, class, flags, stmt)
    ELSE 'unsupported_command'
END;

-- Filtered is what the safety of reads only leaves out; skipped is what can't or must not be replayed at all.
CREATE OR REPLACE TEMP MACRO held_status(reason) AS
    CASE WHEN reason IN ('write', 'ddl', 'admin') OR starts_with(reason, 'filter:') THEN 'filtered' ELSE 'skipped' END;

-- A statement without what stands in quotes; as text a BLOB has \x27 for ' and \x22 for ".
CREATE OR REPLACE TEMP MACRO without_literals(statement) AS
    regexp_replace(coalesce(statement::VARCHAR, ''), '\\x27.*?\\x27|\\x22.*?\\x22', '', 'g');

-- Which target: bit 40 = a second one may answer it, bit 41 = it changes its session on both (QT_PLAN_FOR_READER, QT_PLAN_FOR_BOTH in
-- native/querytape.h). A read that locks, or that depends on what its connection did or holds, stays where the writes are.
CREATE OR REPLACE TEMP MACRO reads_here(statement) AS regexp_matches(without_literals(statement),
    '(?i)\bfor\s+(update|share)\b|\block\s+in\s+share\b|\binto\s+(@|outfile|dumpfile)|(^|[^@])@[^@]|\b(get_lock|release_lock|release_all_locks|is_used_lock|is_free_lock|last_insert_id|found_rows|row_count|connection_id|nextval|lastval|setval)\s*\(');

CREATE OR REPLACE TEMP MACRO side_flags(command, class, statement, stmt) AS CASE
    WHEN NOT getvariable('split') THEN 0
    WHEN command IN ('init_db', 'reset_connection', 'change_user', 'set_option') THEN 2199023255552
    WHEN command = 'query' AND class = 'session' THEN 2199023255552
    WHEN command IN ('long_data', 'reset_stmt', 'close_stmt') THEN 2199023255552
    WHEN command = 'prepare' AND class = 'read' AND NOT reads_here(statement) THEN 2199023255552
    WHEN command IN ('query', 'execute') AND class = 'read' AND NOT reads_here(statement) THEN 1099511627776
    ELSE 0
END;

-- The connection id behind COM_PROCESS_KILL, as text; params are the letter C and four bytes, the lowest first.
CREATE OR REPLACE TEMP MACRO little_endian(params) AS
    ('0x' || substr(hex(params), 9, 2) || substr(hex(params), 7, 2) || substr(hex(params), 5, 2)
        || substr(hex(params), 3, 2))::BIGINT::VARCHAR;

-- Numbers of the copies of each event.
CREATE OR REPLACE TEMP VIEW every_clone AS SELECT range::INTEGER AS clone FROM range(getvariable('copies')::BIGINT);
