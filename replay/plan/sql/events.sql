-- SPDX-License-Identifier: Apache-2.0
-- Which events of one window are sent? The result has all events of the window, with `reason`. NULL = the event is
-- sent.
--
-- Events that failed on the tape because of their timing (lock wait, killed, too slow) are excluded if the replay keeps
-- the order of commits. These events would succeed in the replay.
--
-- Input: the view window_selected (database.py) and these tables, macros and variables:
-- - excluded_statements (session, stmt, reason): prepared statements whose PREPARE is not sent
-- - refused_digests (refused_digests.sql), excluded_events (kills_alone.sql, unanswered.sql)
-- - the macros of macros.sql, the macro schema_of, the variable commit_order
--
-- Run by hand: `database.open_planner(plan)`, then `database.show_window(...)`, which makes the view window_events from
-- this file.
SELECT
    t.* REPLACE (schema_of(t.db) AS db),
    coalesce(
        t.filtered,
        exclusion_reason(t.command, t.class, t.actions, t.flags, t.db, t.stmt),
        p.reason,
        CASE WHEN getvariable('commit_order') AND interrupted(t.errno) THEN 'original_failed' END,
        x.reason,
        v.reason
    ) AS reason
FROM window_selected t
LEFT JOIN excluded_statements x ON t.session = x.session AND t.stmt = x.stmt
LEFT JOIN refused_digests p ON t.digest = p.digest
LEFT JOIN excluded_events v ON t.session = v.session AND t.seq = v.seq
