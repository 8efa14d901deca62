-- SPDX-License-Identifier: Apache-2.0
-- Which latencies occurred when? Per run (its first round): at most 120 columns of time, and rows of half powers of two of the
-- service time; a stall, a second mode, a slow drift show as shapes. Input: outcome.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/heat.sql
CREATE OR REPLACE TEMP TABLE heat_counts AS
SELECT run, (120 * done_ns // getvariable('end_ns'))::INTEGER AS bin, floor(2 * log2(greatest(service_ns, 1)))::INTEGER AS height, count(*) AS n
FROM outcome
WHERE done_ns IS NOT NULL AND done_ns >= 0 AND round = 1
GROUP BY ALL;

SELECT run, bin, height, n FROM heat_counts ORDER BY run, bin, height
