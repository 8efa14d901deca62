-- SPDX-License-Identifier: Apache-2.0
-- What does one window contain? The result has one row for each session, reason, schema and user. All counts of a
-- window come from this one pass over its events. Times are the original times of the tape.
--
-- Input: the view window_events (database.py).
--
-- Run by hand: `database.open_planner(plan)`, then `database.show_window(...)`. The table window_groups contains the
-- result.
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
