-- SPDX-License-Identifier: Apache-2.0
-- How many sessions were open, and how many statements ran at once? The result has the maximum and the average of each.
-- A session counts as open from its first to its last event.
--
-- Input: the views tape_sessions and tape_events.
--
-- Run by hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   CREATE VIEW tape_sessions AS FROM 'shop.tape/sessions.parquet';
--   .read analyze/sql/inspect/concurrency.sql
WITH steps AS (
    SELECT first_ns AS at_ns, 1 AS step FROM tape_sessions
    UNION ALL SELECT last_ns, -1 FROM tape_sessions
), open AS (
    SELECT at_ns, sum(step) OVER (ORDER BY at_ns, step ROWS UNBOUNDED PRECEDING) AS n FROM steps
), running AS (
    SELECT start_ns AS at_ns, 1 AS step FROM tape_events WHERE duration_ns > 0
    UNION ALL SELECT start_ns + duration_ns, -1 FROM tape_events WHERE duration_ns > 0
), busy AS (
    SELECT sum(step) OVER (ORDER BY at_ns, step ROWS UNBOUNDED PRECEDING) AS n FROM running
)
SELECT
    (SELECT max(n) FROM open)::BIGINT AS max_sessions,
    (SELECT max(n) FROM busy)::BIGINT AS max_statements,
    (SELECT sum(duration_ns) / nullif(max(start_ns + coalesce(duration_ns, 0)) - min(start_ns), 0) FROM tape_events) AS mean_statements
