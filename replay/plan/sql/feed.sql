-- SPDX-License-Identifier: Apache-2.0
-- Which data does the engine get for one window? The result has the events that are sent, in the engine's columns, once
-- for each copy of this round. Times are nanoseconds from the start of the run.
--
-- A KILL names the session that it targets, instead of the connection id of the tape. If the replay keeps the order of
-- commits, the victim of a deadlock is rolled back at its position on the tape. If the victim is DDL, its implicit
-- commit came first.
--
-- Input: the views window_events, session_bases, commit_order and window_kills (database.py); the table victims
-- (victims.sql); these variables and macros:
-- - variables: round, collations, amplify, commit_order, commands, classes, rollback, commit_action
-- - macros: those of macros.sql, due_of, shift_of, account_of, clock_of, insert_id_of, insert_ids_of
--
-- Run by hand: `database.open_planner(plan)`, then `database.show_feed(...)`, which makes the view window_feed from
-- this file.
WITH sent AS (
    SELECT w.*, c.clone,
        due_of(w.start_ns, b.base_ns) + shift_of(w.session, c.clone) AS due_ns,
        o.waits,
        getvariable('commit_order') AND (rolled_back(w.errno) OR i.session IS NOT NULL) AS undone,
        rolled_back(w.errno) AND has_action(w.actions, 'implicit_commit') AS commits, -- before the statement failed
        i.statement AS undoing,
        k.session IS NOT NULL AS kills,
        k.victim,
        k.ends_session
    FROM (SELECT * FROM window_events WHERE reason IS NULL) w
    CROSS JOIN (SELECT clone FROM every_clone WHERE clone // getvariable('amplify') = getvariable('round')) c
    LEFT JOIN session_bases b ON w.session = b.session
    LEFT JOIN commit_order o ON w.session = o.session AND w.seq = o.seq
    LEFT JOIN victims i ON w.session = i.session AND w.seq = i.seq
    LEFT JOIN window_kills k ON w.session = k.session AND w.seq = k.seq
)
SELECT
    copy_of(s.session, s.clone) AS session,
    s.seq,
    s.due_ns,
    greatest(due_of(s.start_ns + coalesce(s.duration_ns, 0), s.start_ns) - due_of(s.start_ns, s.start_ns), 0) AS span_ns,
    getvariable('command_codes')[
        CASE WHEN s.undone THEN 'query' WHEN s.kills THEN 'process_kill' ELSE s.command END]::INTEGER AS command,
    coalesce(getvariable('class_codes')[CASE WHEN s.undone THEN 'transaction' ELSE s.class END], -1)::INTEGER AS class,
    CASE
        WHEN s.undone AND s.commits THEN getvariable('commit_action')
        WHEN s.undone THEN getvariable('rollback')
        WHEN executes(s.command) THEN coalesce(s.actions, 0)
        ELSE 0
    END::BIGINT AS actions,
    s.flags | read_target_flags(s.command, s.class, s.actions, s.flags) | failed_flag(s.errno) AS flags,
    account_of(s."user") AS account,
    s.db,
    CASE WHEN s.kills THEN copy_of(s.victim, s.clone) ELSE s.stmt END AS stmt,
    CASE
        WHEN s.undone AND s.commits THEN 'COMMIT'::BLOB
        WHEN s.undone THEN coalesce(s.undoing, 'ROLLBACK'::BLOB)
        WHEN s.command = 'change_user' THEN encode(names_of(collation_of(s.params)))
        WHEN s.kills
            THEN if(s.ends_session, 'CONNECTION', 'QUERY')::BLOB
        WHEN s.command = 'query' OR s.params IS NULL THEN s.statement -- an EXECUTE does not need its text again
    END AS statement,
    CASE WHEN NOT s.undone THEN s.params END AS params,
    CASE WHEN NOT has_action(s.actions, 'asks_diagnostics') THEN clock_of(s.class, s.actions, s.flags, s.tape_ns) END AS clock_us,
    CASE WHEN s.insert_ids IS NULL AND NOT has_action(s.actions, 'asks_diagnostics') THEN insert_id_of(s.class, s.insert_id) END
        AS insert_id,
    CASE WHEN NOT s.undone AND s.command = 'query' THEN insert_ids_of(s.class, s.insert_ids) END AS insert_ids,
    s.waits,
    CASE WHEN NOT s.undone THEN s.digest END AS digest
FROM sent s
