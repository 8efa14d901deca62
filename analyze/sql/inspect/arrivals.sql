-- SPDX-License-Identifier: Apache-2.0
-- How do statements and sessions arrive: how many per second, and how evenly?
--
-- - burstiness: the index of dispersion, which is the variance of the counts per second divided by their mean. A
--   Poisson process has the value 1. A higher value means bursts.
-- - think: the time from an answer to the next statement of the session.
--
-- Input: the views tape_events and tape_sessions.
--
-- Run by hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   CREATE VIEW tape_sessions AS FROM 'shop.tape/sessions.parquet';
--   .read analyze/sql/inspect/arrivals.sql
WITH seconds AS (
    SELECT start_ns // 1000000000 AS second, count(*) AS n FROM tape_events GROUP BY ALL
), spans AS (
    SELECT min(second) AS first, max(second) AS last FROM seconds
), filled AS (
    SELECT coalesce(s.n, 0) AS n
    FROM (SELECT unnest(range(first, last + 1)) AS second FROM spans WHERE last - first < 10000000) AS r
    LEFT JOIN seconds AS s USING (second)
), thinking AS (
    SELECT e.start_ns - b.end_ns AS think_ns
    FROM (SELECT session::UINTEGER AS session, seq::UINTEGER AS seq, start_ns FROM tape_events) AS e
    JOIN (SELECT session::UINTEGER AS session, (seq + 1)::UINTEGER AS seq, start_ns + coalesce(duration_ns, 0) AS end_ns FROM tape_events) AS b
        USING (session, seq)
), connects AS (
    SELECT connect_ns // 1000000000 AS second, count(*) AS n FROM tape_sessions WHERE connect_ns IS NOT NULL GROUP BY ALL
)
SELECT
    (SELECT max(n) FROM filled) AS max_per_second,
    (SELECT quantile_disc(n, 0.5) FROM filled) AS median_per_second,
    (SELECT var_pop(n) / nullif(avg(n), 0) FROM filled) AS burstiness,
    (SELECT quantile_disc(think_ns, [0.5, 0.95]) FROM thinking WHERE think_ns >= 0) AS think_ns,
    (SELECT count(*) FROM thinking WHERE think_ns >= 0) AS think_times,
    (SELECT max(n) FROM connects) AS max_connects_per_second,
    (SELECT sum(n) / nullif(max(second) - min(second) + 1, 0) FROM connects) AS connects_per_second,
    (SELECT count(*) FROM tape_sessions WHERE NOT connect_seen) AS connects_not_seen
