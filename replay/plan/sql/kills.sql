-- SPDX-License-Identifier: Apache-2.0
-- Which session does each KILL of one window target?
--
-- Columns: session, seq, victim (the session that had the connection id at that moment, or NULL), ends_session (false
-- for KILL QUERY).
--
-- Input: the table kills (make_plan.py), and the views window_events and threads (database.py).
--
-- Run by hand: `database.open_planner(plan)`, then `database.show_feed(...)`, which makes the view window_kills from
-- this file.
WITH sent AS (
    SELECT session, seq, w.tape_ns, k.thread, k.ends_session
    FROM window_events w
    JOIN kills k USING (session, seq)
    WHERE w.reason IS NULL
)
SELECT k.session, k.seq, t.session AS victim, k.ends_session
FROM sent k
ASOF LEFT JOIN threads t ON k.thread = t.thread_id AND k.tape_ns >= t.first_ns
