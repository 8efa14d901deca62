-- SPDX-License-Identifier: Apache-2.0
-- Which sessions failed to connect or lost their connection in the run under test, but not in the reference? How many
-- of their events were not sent? The result has one row for each error number.
--
-- Input: the table lost_counts.
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
--   .read analyze/sql/report/lost_sessions.sql
SELECT errno, error, sessions, not_sent
FROM lost_counts
ORDER BY not_sent DESC, errno
