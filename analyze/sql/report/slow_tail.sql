-- SPDX-License-Identifier: Apache-2.0
-- How did the times of the slowest executions of each digest shift, in each twentieth of the tape's time and each
-- round? The result has the p95 of both sides, if a part has at least 15 pairs.
--
-- Input: the view paired_times.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
--   .read analyze/sql/report/slow_tail.sql
CREATE OR REPLACE TEMP TABLE slow_tail_blocks AS
SELECT digest, round, block // 2 AS block, count(*) AS n, quantile_disc(a_ns, 0.95) AS tail_a_ns, quantile_disc(b_ns, 0.95) AS tail_b_ns
FROM paired_times
GROUP BY ALL;

SELECT digest::VARCHAR AS digest, round, block, n, tail_a_ns, tail_b_ns
FROM slow_tail_blocks
WHERE n >= 15
ORDER BY digest, round, block
