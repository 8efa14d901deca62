-- SPDX-License-Identifier: Apache-2.0
-- Which session does each KILL of one window mean? session, seq, victim: the session that had the connection id at that
-- moment, or NULL.
-- Inputs: views window_events, threads (database.py); macros of macros.sql.
-- By hand: `database.open_planner(plan)`, then `database.show_feed(...)`, which makes this the view window_kills.
WITH kills AS (
    SELECT session, seq, tape_ns, killed_thread(command, statement, params) AS thread
    FROM window_events
    WHERE reason IS NULL AND (command = 'process_kill' OR danger_of(flags) = 'kill')
)
SELECT k.session, k.seq, t.session AS victim
FROM kills k
ASOF LEFT JOIN threads t ON k.thread = t.thread_id AND k.tape_ns >= t.first_ns
