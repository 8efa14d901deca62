-- SPDX-License-Identifier: Apache-2.0
-- Which pairs have the digests that ran only a few times? One row for each pair of those with fewer than 30: they are tested exactly.
--   moment   pairs of one moment share what the machine did, and count once: those of a block; where a run is so short that blocks take
--            less than half a second, those of one half second of the run in which they came earlier
-- Input: joined, paired_times.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
--   .read analyze/sql/report/few_pairs.sql
WITH few AS (
    SELECT digest FROM paired_times GROUP BY digest HAVING count(*) < 30
), lengths AS (
    SELECT round, least(max(a_sent_ns) - min(a_sent_ns), max(b_sent_ns) - min(b_sent_ns)) // 40 AS block_ns
    FROM joined
    WHERE matched
    GROUP BY round
)
SELECT j.digest::VARCHAR AS digest, j.round, block_of(j.start_ns) AS block, j.a_done_ns - j.a_sent_ns AS a_ns, j.b_done_ns - j.b_sent_ns AS b_ns,
    CASE WHEN l.block_ns < 500000000 THEN least(j.a_sent_ns, j.b_sent_ns) // 500000000 ELSE block_of(j.start_ns) END::BIGINT AS moment
FROM joined AS j
JOIN lengths AS l USING (round)
WHERE j.matched AND j.digest IN (FROM few)
ORDER BY digest, j.round, block, a_ns, b_ns
