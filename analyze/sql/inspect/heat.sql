-- SPDX-License-Identifier: Apache-2.0
-- At which times did which durations occur? The result is a heat map that shows a stall, a nightly job or a slow drift
-- as a shape.
--
-- - Columns: bins of bin_ns nanoseconds, counted from the first event.
-- - Rows: the duration in ns on a logarithmic scale, with two steps per power of two.
--
-- Input: the view tape_events and the variable bin_ns.
--
-- Run by hand:
--   CREATE VIEW tape_events AS FROM 'shop.tape/events/part-*.parquet';
--   SET VARIABLE bin_ns = 1000000000;
--   .read analyze/sql/inspect/heat.sql
WITH bounds AS (
    SELECT min(start_ns) AS first_ns FROM tape_events
)
SELECT (start_ns - first_ns) // getvariable('bin_ns') AS bin, floor(2 * log2(greatest(duration_ns, 1)))::INTEGER AS height, count(*) AS n
FROM tape_events, bounds
WHERE duration_ns IS NOT NULL
GROUP BY ALL
ORDER BY bin, height
