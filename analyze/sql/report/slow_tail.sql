-- SPDX-License-Identifier: Apache-2.0
-- How did the times of the slowest executions of each digest shift, in each twentieth of the tape's time and each
-- round? The result has the p95 of both sides, if a part has at least 15 pairs.
--
-- Input: the tables block_counts and tail_quantiles.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/names.sql
--   .read analyze/sql/summary/join.sql
--   .read analyze/sql/summary/spans.sql
--   .read analyze/sql/summary/facts.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/summary/chosen.sql
--   .read analyze/sql/summary/quantiles.sql
--   .read analyze/sql/report/slow_tail.sql
WITH counts AS (
    SELECT digest, round, block // 2 AS block, sum(pairs)::BIGINT AS n FROM block_counts WHERE run = 'a' AND pairs > 0 GROUP BY ALL
)
SELECT c.digest::VARCHAR AS digest, c.round, c.block, c.n, a.p[2] AS tail_a_ns, b.p[2] AS tail_b_ns
FROM counts AS c
JOIN tail_quantiles AS a ON a.run = 'a' AND c.digest = a.digest AND c.round = a.round AND c.block IS NOT DISTINCT FROM a.block
JOIN tail_quantiles AS b ON b.run = 'b' AND c.digest = b.digest AND c.round = b.round AND c.block IS NOT DISTINCT FROM b.block
WHERE c.n >= 15
ORDER BY digest, c.round, c.block
