-- SPDX-License-Identifier: Apache-2.0
-- What happened to each event of the tape? In each run, every event is counted in exactly one row.
--
-- Input: the view every_outcome (prelude.sql).
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/accounting.sql
SELECT run, status, reason, count(*) AS events, sum(done_ns - sent_ns)::BIGINT AS service_ns
FROM every_outcome
GROUP BY ALL
ORDER BY run, status, events DESC, reason
