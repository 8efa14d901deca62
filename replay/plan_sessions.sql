-- SPDX-License-Identifier: Apache-2.0
-- Which sessions are opened, when, and for how many events? One row for each that has something to send.
-- Input: table session_windows (plan_window.sql, with the number of the window); variable lead_ns; macro due_of(start_ns),
-- which gives nanoseconds from the run's zero.
SELECT
    session,
    CASE WHEN connect_seen THEN due_of(connect_ns) ELSE due_of(first_ns) - getvariable('lead_ns') END AS open_due_ns,
    events,
    db,
    NOT connect_seen AS opened_ahead,
    due_of(last_ns) AS last_due_ns,
    due_of(end_ns) AS close_due_ns
FROM (
    SELECT
        session,
        sum(events)::BIGINT AS events,
        min(first_ns) AS first_ns,
        max(last_ns) AS last_ns,
        max(end_ns) AS end_ns,
        arg_min(db, db_seq) AS db,
        min(connect_ns) AS connect_ns,
        bool_or(connect_seen) AS connect_seen
    FROM session_windows
    GROUP BY session
)
WHERE events > 0
