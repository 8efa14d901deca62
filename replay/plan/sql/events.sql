-- SPDX-License-Identifier: Apache-2.0
-- Which events of one window are sent? All events of the window, with `reason`; NULL = it is sent.
-- Inputs: view window_selected (database.py); table excluded_statements (session, stmt, reason: prepared statements whose
-- PREPARE is not sent), refused_digests (refused_digests.sql), excluded_events (kills_alone.sql, unanswered.sql); macros of
-- macros.sql, schema_of; variable commit_order.
-- By hand: `database.open_planner(plan)`, then `database.show_window(...)`, which makes this the view window_events.
-- Under the order of commits what failed for reasons of its time (lock wait, killed, too slow) is excluded: it would
-- succeed now.
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
