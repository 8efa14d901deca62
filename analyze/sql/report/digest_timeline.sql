-- SPDX-License-Identifier: Apache-2.0
-- How did each digest go over time? Median and p95 in 60 parts of the run (its first round). Input: outcome.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/digest_timeline.sql
SELECT digest, run, (60 * done_ns // (SELECT greatest(max(done_ns), 1) + 1 FROM outcome))::INTEGER AS bin,
    quantile_disc(service_ns, 0.5) AS p50_ns, quantile_disc(service_ns, 0.95) AS p95_ns
FROM outcome
WHERE ok AND digest IS NOT NULL AND round = 1
GROUP BY ALL
ORDER BY digest, run, bin
