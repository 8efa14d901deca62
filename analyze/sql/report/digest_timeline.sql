-- SPDX-License-Identifier: Apache-2.0
-- How did the service times of each digest change over time? The result has the median and the p95 in each block
-- of the tape's time, for the first round of each run.
--
-- Input: the table block_bins.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/report/digest_timeline.sql
SELECT digest, run, block AS bin, min(least) FILTER (upto >= rank_of(0.5, n)) AS p50_ns, min(least) FILTER (upto >= rank_of(0.95, n)) AS p95_ns
FROM (
    SELECT digest, run, block, least, sum(n) OVER (PARTITION BY digest, run, block ORDER BY bin) AS upto, sum(n) OVER (PARTITION BY digest, run, block) AS n
    FROM block_bins
    WHERE round = 1 AND block IS NOT NULL
) AS placed
GROUP BY digest, run, block
ORDER BY digest, run, bin
