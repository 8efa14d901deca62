-- SPDX-License-Identifier: Apache-2.0
-- Which errors occurred in each run?
--
-- Input: the view outcome and the table failure.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/error_counts.sql
CREATE OR REPLACE TEMP TABLE error_counts_sums AS
SELECT o.run AS run, o.errno AS errno, o.digest AS digest,
    count(*) AS events,
    arg_min(f.error, {'session': o.session, 'seq': o.seq, 'clone': o.clone, 'round': o.round}) AS error
FROM outcome AS o
LEFT JOIN failure AS f USING (run, round, session, seq, clone)
WHERE o.status = 'executed' AND o.errno <> 0
GROUP BY ALL;

SELECT run, errno, digest, events, error
FROM error_counts_sums
ORDER BY run, events DESC, errno, digest
