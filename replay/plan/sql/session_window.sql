-- SPDX-License-Identifier: Apache-2.0
-- What does one window have of each session? One row a session; later windows add theirs. Times are still the tape's.
-- Input: view window_events (database.py).
-- By hand: `database.open_planner(plan)`, then `database.show_window(...)`.
SELECT
    session,
    min(seq) AS min_seq,
    max(seq) AS max_seq,
    bool_or(previous > seq) AS disordered,
    count(*) FILTER (reason IS NULL) AS events,
    min(start_ns) FILTER (reason IS NULL) AS first_ns,
    min(start_ns) FILTER (reason IS NULL AND NOT is_early) AS timed_ns,
    max(start_ns) FILTER (reason IS NULL) AS last_ns,
    max(start_ns + coalesce(duration_ns, 0)) FILTER (reason IS NULL) AS end_ns,
    min(seq) FILTER (db IS NOT NULL) AS db_seq,
    arg_min(db, seq) FILTER (db IS NOT NULL) AS db,
    min(start_ns) FILTER (command = 'connect') AS connect_ns,
    bool_or(seq = 1 AND command = 'connect') AS connect_seen
FROM (
    SELECT *, lag(seq) OVER (PARTITION BY session ORDER BY start_ns, seq) AS previous
    FROM window_events
)
GROUP BY session
