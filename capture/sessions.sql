-- SPDX-License-Identifier: Apache-2.0
-- Which original connections are on this tape, from when to when, and how much of each was seen?
-- Input: view events (a tape's events). By hand:
--   duckdb -c "CREATE VIEW events AS FROM 'shop.tape/events/part-*.parquet'; .read capture/sessions.sql"
SELECT
    session,
    min(thread_id) AS thread_id,
    arg_min("user", seq) AS "user",
    arg_min(host, seq) AS host,
    NULL AS port,
    arg_min(db, seq) FILTER (db IS NOT NULL) AS db,
    min(start_ns) FILTER (command = 'connect') AS connect_ns,
    bool_or(command = 'connect') AS connect_seen,
    bool_or(command = 'quit') AS quit_seen,
    CASE WHEN bool_or(command = 'connect') THEN false END AS open_at_start,
    CASE WHEN bool_or(command = 'quit') THEN false END AS open_at_end,
    min(start_ns) AS first_ns,
    max(start_ns + coalesce(duration_ns, 0)) AS last_ns,
    count(*) AS events,
    NULL AS client_flags,
    NULL AS charset,
    NULL AS attributes
FROM events
GROUP BY session
ORDER BY first_ns, session
