-- SPDX-License-Identifier: Apache-2.0
-- Which errors occurred in each run?
--
-- Input: the table error_counts.
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
--   .read analyze/sql/report/error_counts.sql
SELECT run, errno, digest, events, error
FROM error_counts
ORDER BY run, events DESC, errno, digest
