-- SPDX-License-Identifier: Apache-2.0
-- How many events could be compared, for each kind of result? The result has one row.
--
-- Input: the view matched_events.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
--   .read analyze/sql/report/compared.sql
CREATE OR REPLACE TEMP TABLE compared_counts AS
SELECT count(*) FILTER (rows_known) AS rows, count(*) FILTER (sums_known) AS checksums
FROM matched_events
GROUP BY ALL;

SELECT rows, checksums FROM compared_counts
