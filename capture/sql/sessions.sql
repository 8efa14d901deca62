-- SPDX-License-Identifier: Apache-2.0
-- Which original connections are on this tape, from when to when, and how much of each was captured?
--
-- Input: the view events (a tape's events), and the view telling (facts.sql). The view telling is empty if the source
-- reported only events. Run by hand:
--   duckdb -cmd "CREATE VIEW events AS FROM 'shop.tape/events/part-*.parquet'" -cmd ".read capture/sql/facts.sql" \
--       -c ".read capture/sql/sessions.sql"
WITH seen AS (
    SELECT
        session,
        min(thread_id) AS thread_id,
        min(seq) > 1 AS begin_dropped, -- --keep dropped the beginning, even if the source reported an open state
        arg_min("user", seq) AS "user",
        arg_min(host, seq) AS host,
        arg_min(db, seq) FILTER (db IS NOT NULL) AS db,
        min(start_ns) FILTER (command = 'connect') AS connect_ns,
        bool_or(command = 'connect') AS connect_seen,
        bool_or(command = 'quit') AS quit_seen,
        CASE WHEN bool_or(command = 'connect') THEN false END AS open_at_start,
        CASE WHEN bool_or(command = 'quit') THEN false END AS open_at_end,
        min(start_ns) AS first_ns,
        max(start_ns + coalesce(duration_ns, 0)) AS last_ns,
        count(*) AS events
    FROM events
    GROUP BY session
)
SELECT
    seen.session,
    coalesce(telling.thread_id, seen.thread_id) AS thread_id,
    coalesce(telling."user", seen."user") AS "user",
    coalesce(telling.host, seen.host) AS host,
    telling.port,
    coalesce(telling.db, seen.db) AS db,
    seen.connect_ns,
    seen.connect_seen,
    seen.quit_seen,
    CASE WHEN begin_dropped THEN true ELSE coalesce(telling.open_at_start, seen.open_at_start) END AS open_at_start,
    coalesce(telling.open_at_end, seen.open_at_end) AS open_at_end,
    seen.first_ns,
    seen.last_ns,
    seen.events,
    telling.client_flags,
    telling.charset,
    telling.attributes,
    telling.encrypted
FROM seen
LEFT JOIN telling USING (session)
ORDER BY first_ns, session
