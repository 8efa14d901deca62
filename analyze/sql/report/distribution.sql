-- SPDX-License-Identifier: Apache-2.0
-- How are the service times of each digest distributed? The result counts events in buckets of a quarter power of two,
-- for both sides.
--
-- Input: the view outcome.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/distribution.sql
CREATE OR REPLACE TEMP TABLE distribution_counts AS
SELECT digest, run, floor(4 * log2(greatest(service_ns, 1)))::INTEGER AS height, count(*) AS n
FROM outcome
WHERE ok AND digest IS NOT NULL
GROUP BY ALL;

SELECT digest, run, height, n FROM distribution_counts ORDER BY digest, run, height
