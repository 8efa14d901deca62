-- SPDX-License-Identifier: Apache-2.0
-- How many events could be compared, for each kind of result? The result has one row.
--
-- Input: the table matched_counts.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/report/compared.sql
SELECT coalesce(sum(rows_known), 0)::BIGINT AS rows, coalesce(sum(sums_known), 0)::BIGINT AS checksums FROM matched_counts
