-- SPDX-License-Identifier: Apache-2.0
-- How did the run change over time? The result has one row for each run, round and bin of bin_ns nanoseconds. An event
-- belongs to the bin in which its answer ended.
-- - per_second: answers per second.
-- - p50_ns, p95_ns, p99_ns: the service time.
-- - busy: the average number of statements in the server (service time per second).
-- - errors: failed statements.
--
-- Input: the view outcome and the variable bin_ns.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/timeline.sql
CREATE OR REPLACE TEMP TABLE timeline_bins AS
SELECT run, round, (done_ns // getvariable('bin_ns'))::BIGINT AS bin,
    count(*) AS n,
    quantile_disc(service_ns, [0.5, 0.95, 0.99]) FILTER (ok) AS p,
    sum(service_ns)::BIGINT AS service_ns,
    count(*) FILTER (errno <> 0) AS errors
FROM outcome
WHERE done_ns IS NOT NULL
GROUP BY ALL;

SELECT run, round, bin, n / (getvariable('bin_ns') / 1e9) AS per_second, p[1] AS p50_ns, p[2] AS p95_ns, p[3] AS p99_ns,
    service_ns / getvariable('bin_ns') AS busy, errors
FROM timeline_bins
ORDER BY run, round, bin
