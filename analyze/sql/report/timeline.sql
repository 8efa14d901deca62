-- SPDX-License-Identifier: Apache-2.0
-- How did the run change over time? The result has one row for each run, round and bin of bin_ns nanoseconds. An event
-- belongs to the bin in which its answer ended.
-- - per_second: answers per second.
-- - p50_ns, p95_ns, p99_ns: the service time.
-- - busy: the average number of statements in the server (service time per second).
-- - errors: failed statements.
--
-- Input: the tables tick_counts and tick_quantiles, and the variable bin_ns.
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
--   .read analyze/sql/report/timeline.sql
SELECT t.run, t.round, t.tick::BIGINT AS bin, n / (getvariable('bin_ns') / 1e9) AS per_second, q.p[1] AS p50_ns, q.p[3] AS p95_ns, q.p[4] AS p99_ns,
    service_ns / getvariable('bin_ns') AS busy, errors
FROM tick_counts AS t
LEFT JOIN tick_quantiles AS q ON t.run = q.run AND t.round = q.round AND t.tick = q.tick
ORDER BY t.run, t.round, bin
