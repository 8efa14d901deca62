-- SPDX-License-Identifier: Apache-2.0
-- How are the service times of each digest distributed? The result counts events in buckets of a quarter power of two,
-- for both sides.
--
-- Input: the table service_bins.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/report/distribution.sql
SELECT digest, run, bin // 178 AS height, sum(n)::BIGINT AS n
FROM service_bins
WHERE digest IS NOT NULL
GROUP BY ALL
ORDER BY digest, run, height
