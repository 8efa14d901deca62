-- SPDX-License-Identifier: Apache-2.0
-- Which pairs have the digests that ran only a few times? One row for each pair of those with fewer than 30: they are tested exactly.
--   moment   pairs of one moment share what the machine did, and count once: those of a block; where a run is so short that blocks take
--            less than half a second, those of one half second of the run in which they came earlier
-- Input: joined, paired_times.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
--   .read analyze/sql/report/few_pairs.sql
CREATE OR REPLACE TEMP TABLE few_pairs_counts AS
SELECT digest, count(*) AS n
FROM paired_times
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE few_pairs_lengths AS
SELECT round, min(a_sent_ns) AS a_first, max(a_sent_ns) AS a_last, min(b_sent_ns) AS b_first, max(b_sent_ns) AS b_last
FROM joined
WHERE matched
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE few_pairs_rows AS
SELECT digest, round, block_of(start_ns) AS block, a_sent_ns, a_done_ns, b_sent_ns, b_done_ns
FROM joined
WHERE matched AND digest IN (SELECT digest FROM few_pairs_counts WHERE n < 30);

SELECT r.digest::VARCHAR AS digest, r.round, r.block, r.a_done_ns - r.a_sent_ns AS a_ns, r.b_done_ns - r.b_sent_ns AS b_ns, CASE
        WHEN least(l.a_last - l.a_first, l.b_last - l.b_first) // 40 < 500000000 THEN least(r.a_sent_ns, r.b_sent_ns) // 500000000
        ELSE r.block END::BIGINT AS moment
FROM few_pairs_rows AS r
JOIN few_pairs_lengths AS l USING (round)
ORDER BY digest, r.round, block, a_ns, b_ns, moment
