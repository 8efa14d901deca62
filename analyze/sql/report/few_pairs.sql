-- SPDX-License-Identifier: Apache-2.0
-- Which pairs do the rare digests have? A digest with fewer than 30 pairs is tested exactly. The result has one row for
-- each of these pairs.
--
-- moment: the pairs of one moment share the load of the machine, and count once. A moment is a block of the tape's
-- time. If blocks take less than half a second, a moment is half a second of the run. An event then belongs to the half
-- second in which the first of the two runs sent it.
--
-- Input: the tables few_rows (summary/chosen.sql) and spans.
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
--   .read analyze/sql/report/few_pairs.sql
SELECT r.digest::VARCHAR AS digest, r.round, r.block, r.a_done_ns - r.a_sent_ns AS a_ns, r.b_done_ns - r.b_sent_ns AS b_ns, CASE
        WHEN least(a.last_paired_ns - a.first_paired_ns, b.last_paired_ns - b.first_paired_ns) // 40 < 500000000 THEN least(r.a_sent_ns, r.b_sent_ns) // 500000000
        ELSE r.block END::BIGINT AS moment
FROM few_rows AS r
JOIN spans AS a ON a.run = 'a' AND a.round = r.round
JOIN spans AS b ON b.run = 'b' AND b.round = r.round
ORDER BY digest, r.round, block, a_ns, b_ns, moment
