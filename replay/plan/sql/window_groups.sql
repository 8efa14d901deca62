-- SPDX-License-Identifier: Apache-2.0
-- What does one window have? One row for each session, reason, schema and user: all that is counted of a window is counted
-- in one pass over its events. Times are still the tape's.
-- Input: view window_events (database.py).
-- By hand: `database.open_planner(plan)`, then `database.show_window(...)`; the answer is table window_groups.
SELECT
    session,
    reason,
    db,
    "user",
    count(*) AS events,
    min(seq) AS min_seq,
    max(seq) AS max_seq,
    min(start_ns) AS first_ns,
    min(start_ns) FILTER (NOT is_early) AS timed_ns,
    max(start_ns) AS last_ns,
    max(start_ns + coalesce(duration_ns, 0)) AS end_ns,
    min(start_ns) FILTER (command = 'connect') AS connect_ns,
    bool_or(seq = 1 AND command = 'connect') AS connect_seen
FROM window_events
GROUP BY ALL
