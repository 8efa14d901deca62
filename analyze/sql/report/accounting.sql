-- SPDX-License-Identifier: Apache-2.0
-- What happened to each event of the tape? In each run, every event is counted in exactly one row.
--
-- Input: the table account_counts.
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
--   .read analyze/sql/report/accounting.sql
SELECT run, status, reason, events, service_ns
FROM account_counts
ORDER BY run, status, events DESC, reason
