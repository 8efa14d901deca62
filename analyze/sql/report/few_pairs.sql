-- SPDX-License-Identifier: Apache-2.0
-- Which pairs have the digests that ran only a few times? One row for each pair of those with fewer than 30: they are tested exactly.
-- Input: paired_times.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
--   .read analyze/sql/report/few_pairs.sql
SELECT digest::VARCHAR AS digest, round, block, a_ns, b_ns
FROM paired_times
WHERE digest IN (SELECT digest FROM paired_times GROUP BY digest HAVING count(*) < 30)
ORDER BY digest, round, block, a_ns, b_ns
