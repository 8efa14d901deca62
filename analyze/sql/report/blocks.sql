-- SPDX-License-Identifier: Apache-2.0
-- How did the times of each digest shift, in each block of the tape's time and each round?
--
-- The verdicts use these shifts. Events within a block share the load of the machine. Different blocks are nearly
-- independent.
-- - n: the number of events.
-- - shift: the mean of ln(b / a) over the pairs, if at least half of the events of the smaller side are paired.
--   Otherwise, the difference between the mean logarithms of both sides.
-- - paired: whether `shift` was computed from pairs.
-- - level_a: the mean of ln(a). Its change between the rounds of a shows the variance of the machine itself.
--
-- Input: the table block_counts.
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
--   .read analyze/sql/report/blocks.sql
WITH few AS (
    SELECT s.digest
    FROM (SELECT digest, run, sum(n) AS n, sum(pairs) AS pairs FROM block_counts WHERE digest IS NOT NULL GROUP BY ALL) AS s
    GROUP BY s.digest
    HAVING count(*) = 2 AND max(s.pairs) < 0.5 * min(s.n)
), sides AS (
    SELECT a.digest, a.round, a.block, a.n AS a_n, b.n AS b_n, a.logs AS a_logs, b.logs AS b_logs, a.pairs, a.pair_logs AS a_pair_logs, b.pair_logs AS b_pair_logs
    FROM block_counts AS a
    JOIN block_counts AS b ON b.run = 'b' AND a.digest = b.digest AND a.round = b.round AND a.block IS NOT DISTINCT FROM b.block
    WHERE a.run = 'a'
)
SELECT digest::VARCHAR AS digest, round, block, pairs AS n, ln_of(b_pair_logs - a_pair_logs) / pairs AS shift, ln_of(a_pair_logs) / pairs AS level_a, true AS paired
FROM sides
WHERE pairs > 0 AND digest NOT IN (FROM few)
UNION ALL
SELECT digest::VARCHAR, round, block, least(a_n, b_n), ln_of(b_logs) / b_n - ln_of(a_logs) / a_n, ln_of(a_logs) / a_n, false
FROM sides
WHERE digest IN (FROM few)
ORDER BY digest, round, block
