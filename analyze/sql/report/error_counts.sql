-- SPDX-License-Identifier: Apache-2.0
-- Which errors occurred, per run? Input: outcome, failure.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/error_counts.sql
SELECT run, errno, digest, count(*) AS events, arg_min(error, (session, seq)) AS error
FROM (SELECT * FROM outcome WHERE status = 'executed' AND errno <> 0)
LEFT JOIN failure USING (run, round, session, seq, clone)
GROUP BY ALL
ORDER BY run, events DESC, errno, digest
