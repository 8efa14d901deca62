-- SPDX-License-Identifier: Apache-2.0
-- Which sessions are opened, when, and for how many events? The result has one row for each copy of each session that
-- has an event to send. Times are nanoseconds from the start of the run.
--
-- Input: the table session_windows (the rows of session_window.sql, with the number of the window); the variable
-- lead_ns; the macros due_of, shift_of and account_of; these views:
-- - tape_sessions, charsets, every_clone
-- - collations: the collations that the target has (id, and the argument of SET NAMES for it)
--
-- Run by hand: the plan's `sessions.parquet` contains the result.
WITH each AS (
    SELECT
        session,
        sum(events)::BIGINT AS events,
        min(first_ns) AS first_ns,
        max(last_ns) AS last_ns,
        max(end_ns) AS end_ns,
        arg_min(db, db_seq) AS db,
        min(connect_ns) AS connect_ns,
        bool_or(connect_seen) AS connect_seen,
        CASE WHEN bool_or(connect_seen) THEN min(connect_ns) ELSE min(first_ns) END AS base_ns
    FROM session_windows
    GROUP BY session
    HAVING sum(events) > 0
)
SELECT
    e.session,
    c.clone,
    copy_of(e.session, c.clone) AS engine_session,
    shift_of(e.session, c.clone)
        + CASE WHEN e.connect_seen THEN due_of(e.connect_ns, e.base_ns) ELSE due_of(e.first_ns, e.base_ns) - getvariable('lead_ns') END
        AS open_due_ns,
    e.events,
    e.db,
    NOT e.connect_seen AS opened_ahead,
    account_of(t."user"::VARCHAR) AS account,
    t.client_flags::BIGINT AS client_flags,
    s.name AS charset,
    TRY_CAST(t.charset AS INTEGER) AS collation_id,
    n.names,
    shift_of(e.session, c.clone) + due_of(e.last_ns, e.base_ns) AS last_due_ns,
    shift_of(e.session, c.clone) + due_of(e.end_ns, e.base_ns) AS close_due_ns,
    e.base_ns
FROM each e
CROSS JOIN every_clone c
LEFT JOIN tape_sessions t ON e.session = t.session
LEFT JOIN charsets s ON s.id = TRY_CAST(t.charset AS INTEGER)
LEFT JOIN collations n ON n.id = TRY_CAST(t.charset AS INTEGER)
