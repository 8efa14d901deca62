-- SPDX-License-Identifier: Apache-2.0
-- How much did a run do, and how long did it take? The result has one row. The quantiles contain only statements that
-- were answered without an error.
--
-- Input: the view run_outcomes.
--
-- Run by hand:
--   CREATE VIEW run_outcomes AS FROM 'shop.sweep/8.run/outcomes/part-*.parquet';
--   .read analyze/sql/sweep.sql
SELECT
    count(*) FILTER (status = 'executed' AND done_ns IS NOT NULL) AS statements,
    count(*) FILTER (status = 'executed' AND errno <> 0) AS errors,
    max(done_ns)::BIGINT AS elapsed_ns,
    quantile_disc(done_ns - sent_ns, 0.5) FILTER (errno = 0) AS p50_ns,
    quantile_disc(done_ns - sent_ns, 0.95) FILTER (errno = 0) AS p95_ns,
    quantile_disc(done_ns - sent_ns, 0.99) FILTER (errno = 0) AS p99_ns
FROM run_outcomes
WHERE status = 'executed'
