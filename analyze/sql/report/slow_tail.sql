-- SPDX-License-Identifier: Apache-2.0
-- How did the times of the slowest executions of each digest shift, in each twentieth of the tape's time and each
-- round? The result has the p95 of both sides, if a part has at least 15 pairs.
--
-- Input: the tables block_bins and block_counts.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/report/slow_tail.sql
CREATE OR REPLACE TEMP VIEW slow_tail_bins AS
SELECT {'digest': digest, 'round': round, 'block': block // 2, 'run': run} AS key, bin, pairs AS n, least FROM block_bins;

WITH counts AS (
    SELECT digest, round, block // 2 AS block, sum(pairs)::BIGINT AS n FROM block_counts WHERE run = 'a' AND pairs >= 1 GROUP BY ALL
), tails AS (
    SELECT key.digest AS digest, key.round AS round, key.block AS block, max(p[2]) FILTER (key.run = 'a') AS tail_a_ns, max(p[2]) FILTER (key.run = 'b') AS tail_b_ns
    FROM values_at('slow_tail_bins', 'tail', 8)
    GROUP BY ALL
)
SELECT digest::VARCHAR AS digest, round, block, n, tail_a_ns, tail_b_ns
FROM counts
JOIN tails USING (digest, round, block)
WHERE n >= 15
ORDER BY digest, round, block
