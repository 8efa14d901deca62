-- SPDX-License-Identifier: Apache-2.0
-- Which durations occurred when? Per bin of bin_ns (variable), from the first event, and rows of half powers of two of the duration in ns:
-- a stall, a nightly job, a slow drift show as shapes. Input: tape_events.
-- By hand:
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
