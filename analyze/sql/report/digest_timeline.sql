-- SPDX-License-Identifier: Apache-2.0
-- How did the service times of each digest change over time? The result has the median and the p95 in 60 parts of the
-- first round of the run.
--
-- Input: the view outcome.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/digest_timeline.sql
CREATE OR REPLACE TEMP TABLE digest_timeline_bins AS
SELECT digest, run, (60 * done_ns // getvariable('end_ns'))::INTEGER AS bin, quantile_disc(service_ns, [0.5, 0.95]) AS p
FROM outcome
WHERE ok AND digest IS NOT NULL AND round = 1
GROUP BY ALL;

SELECT digest, run, bin, p[1] AS p50_ns, p[2] AS p95_ns FROM digest_timeline_bins ORDER BY digest, run, bin
