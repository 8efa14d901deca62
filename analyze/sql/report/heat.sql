-- SPDX-License-Identifier: Apache-2.0
-- At which times did which latencies occur? The result is a heat map of the first round of each run. It shows a stall,
-- a second mode or a slow drift as a shape.
--
-- - Columns: at most 120 parts of the time.
-- - Rows: the service time on a logarithmic scale, with two steps per power of two.
--
-- Input: the view outcome.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/heat.sql
CREATE OR REPLACE TEMP TABLE heat_counts AS
SELECT run, (120 * done_ns // getvariable('end_ns'))::INTEGER AS bin, floor(2 * log2(greatest(service_ns, 1)))::INTEGER AS height, count(*) AS n
FROM outcome
WHERE done_ns IS NOT NULL AND done_ns >= 0 AND round = 1
GROUP BY ALL;

SELECT run, bin, height, n FROM heat_counts ORDER BY run, bin, height
