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
-- Input: the views paired_times and outcome.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
--   .read analyze/sql/report/blocks.sql
CREATE OR REPLACE TEMP TABLE blocks_sides AS
SELECT digest, run, round, block_of(start_ns) AS block, count(*) AS n, mean_of(ln(greatest(service_ns, 1))) AS level
FROM outcome
WHERE ok AND digest IS NOT NULL
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE blocks_paired AS
SELECT digest, round, block, count(*) AS n, mean_of(ln(greatest(b_ns, 1) / greatest(a_ns, 1))) AS shift,
    mean_of(ln(greatest(a_ns, 1))) AS level_a
FROM paired_times
GROUP BY ALL;

WITH few AS (
    SELECT s.digest
    FROM (SELECT digest, run, sum(n) AS n FROM blocks_sides GROUP BY ALL) AS s
    LEFT JOIN (SELECT digest, sum(n) AS n FROM blocks_paired GROUP BY digest) AS p USING (digest)
    GROUP BY s.digest
    HAVING count(*) = 2 AND coalesce(max(p.n), 0) < 0.5 * min(s.n)
)
SELECT digest::VARCHAR AS digest, round, block, n, shift, level_a, true AS paired
FROM blocks_paired
WHERE digest NOT IN (FROM few)
UNION ALL
SELECT a.digest::VARCHAR, a.round, a.block, least(a.n, b.n), b.level - a.level, a.level, false
FROM blocks_sides AS a
JOIN blocks_sides AS b ON b.run = 'b' AND a.digest = b.digest AND a.round = b.round AND a.block = b.block
WHERE a.run = 'a' AND a.digest IN (FROM few)
ORDER BY digest, round, block
