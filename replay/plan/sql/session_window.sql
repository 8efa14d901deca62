-- SPDX-License-Identifier: Apache-2.0
-- Which data does one window have about each session? The result has one row for each session. Later windows add their
-- own rows. Times are the original times of the tape.
--
-- Input: the table window_groups (window_groups.sql) and the view window_tape (database.py).
--
-- Run by hand: `database.open_planner(plan)`, then `database.show_window(...)` and the table.
SELECT
    session,
    min(min_seq) AS min_seq,
    max(max_seq) AS max_seq,
    any_value(d.disordered) AS disordered,
    coalesce(sum(events) FILTER (reason IS NULL), 0)::BIGINT AS events,
    min(first_ns) FILTER (reason IS NULL) AS first_ns,
    min(timed_ns) FILTER (reason IS NULL) AS timed_ns,
    max(last_ns) FILTER (reason IS NULL) AS last_ns,
    max(end_ns) FILTER (reason IS NULL) AS end_ns,
    min(min_seq) FILTER (db IS NOT NULL) AS db_seq,
    arg_min(db, min_seq) FILTER (db IS NOT NULL) AS db,
    min(connect_ns) AS connect_ns,
    bool_or(connect_seen) AS connect_seen
FROM window_groups
JOIN (
    SELECT session, bool_or(previous > seq) AS disordered
    FROM (
        SELECT session, seq, lag(seq) OVER (PARTITION BY session ORDER BY start_ns, seq) AS previous
        FROM window_tape
    )
    GROUP BY session
) d USING (session)
GROUP BY session
