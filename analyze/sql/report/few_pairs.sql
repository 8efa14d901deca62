-- SPDX-License-Identifier: Apache-2.0
-- Which pairs do the rare digests have? A digest with fewer than 30 pairs is tested exactly. The result has one row for
-- each of these pairs.
--
-- moment: the pairs of one moment share the load of the machine, and count once. A moment is a block of the tape's
-- time. If blocks take less than half a second, a moment is half a second of the run. An event then belongs to the half
-- second in which the first of the two runs sent it.
--
-- Input: the table joined and the view paired_times.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
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
