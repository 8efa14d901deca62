-- SPDX-License-Identifier: Apache-2.0
-- What became of each event of the tape? Every event is in exactly one row of each run.
-- Input: every_outcome (prelude.sql).
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/accounting.sql
SELECT run, status, reason, count(*) AS events, sum(done_ns - sent_ns)::BIGINT AS service_ns
FROM every_outcome
GROUP BY ALL
ORDER BY run, status, events DESC, reason
