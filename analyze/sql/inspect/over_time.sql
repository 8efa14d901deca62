-- SPDX-License-Identifier: Apache-2.0
-- How does the traffic change over time? The result has one row for each bin of bin_ns nanoseconds, counted from the
-- first event.
--
-- Each row counts the sent commands, reads, writes, failures and connects. It also has the average number of open
-- sessions and of running statements. Bins without events have a row as well.
--
-- The averages are computed from beginnings and ends. A beginning adds one, and an end subtracts one. Each change
-- applies to the rest of its bin and to all later bins.
--
-- Input: the views tape_events and tape_sessions, and the variable bin_ns.
--
-- Run by hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   CREATE VIEW tape_sessions AS FROM 'shop.tape/sessions.parquet';
--   SET VARIABLE bin_ns = 1000000000;
--   .read analyze/sql/inspect/over_time.sql
WITH bounds AS (
    SELECT min(start_ns) AS zero_ns, (max(start_ns) - min(start_ns)) // getvariable('bin_ns') AS last_bin,
        count(duration_ns) > 0 AS durations_known
    FROM tape_events
), bins AS (
    SELECT unnest(range(0, last_bin + 1)) AS bin FROM bounds
), sent AS (
    SELECT (start_ns - zero_ns) // getvariable('bin_ns') AS bin, count(*) AS events, count(*) FILTER (class = 'read') AS reads,
        count(*) FILTER (class = 'write') AS writes, count(*) FILTER (errno <> 0) AS errors
    FROM tape_events, bounds
    GROUP BY ALL
), connects AS (
    SELECT greatest(connect_ns - zero_ns, 0) // getvariable('bin_ns') AS bin, count(*) AS connects
    FROM tape_sessions, bounds
    WHERE connect_ns IS NOT NULL
    GROUP BY ALL
), steps AS (
    SELECT 'sessions' AS what, first_ns AS at_ns, 1 AS step FROM tape_sessions
    UNION ALL SELECT 'sessions', last_ns, -1 FROM tape_sessions
    UNION ALL SELECT 'running', start_ns, 1 FROM tape_events WHERE duration_ns > 0
    UNION ALL SELECT 'running', start_ns + duration_ns, -1 FROM tape_events WHERE duration_ns > 0
), placed AS (
    SELECT what, step, greatest(at_ns - zero_ns, 0) // getvariable('bin_ns') AS bin, greatest(at_ns - zero_ns, 0) % getvariable('bin_ns') AS inside_ns
    FROM steps, bounds
), moved AS (
    SELECT bin,
        sum(step) FILTER (what = 'sessions') AS sessions, sum(step * (getvariable('bin_ns') - inside_ns)) FILTER (what = 'sessions') AS sessions_ns,
        sum(step) FILTER (what = 'running') AS running, sum(step * (getvariable('bin_ns') - inside_ns)) FILTER (what = 'running') AS running_ns
    FROM placed
    GROUP BY bin
), averaged AS (
    SELECT bin,
        (coalesce(sum(m.sessions) OVER before, 0) + coalesce(m.sessions_ns, 0) / getvariable('bin_ns'))::DOUBLE AS sessions,
        (coalesce(sum(m.running) OVER before, 0) + coalesce(m.running_ns, 0) / getvariable('bin_ns'))::DOUBLE AS running
    FROM bins
    LEFT JOIN moved AS m USING (bin)
    WINDOW before AS (ORDER BY bin ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT bin, coalesce(s.events, 0) AS events, coalesce(s.reads, 0) AS reads, coalesce(s.writes, 0) AS writes, coalesce(s.errors, 0) AS errors,
    coalesce(c.connects, 0) AS connects, a.sessions, CASE WHEN durations_known THEN a.running END AS running
FROM averaged AS a
CROSS JOIN bounds
LEFT JOIN sent AS s USING (bin)
LEFT JOIN connects AS c USING (bin)
ORDER BY bin
