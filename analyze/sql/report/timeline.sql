-- SPDX-License-Identifier: Apache-2.0
-- How did the run change over time? The result has one row for each run, round and bin of bin_ns nanoseconds. An event
-- belongs to the bin in which its answer ended.
-- - per_second: answers per second.
-- - p50_ns, p95_ns, p99_ns: the service time.
-- - busy: the average number of statements in the server (service time per second).
-- - errors: failed statements.
--
-- Input: the table time_bins and the variable bin_ns.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/report/timeline.sql
CREATE OR REPLACE TEMP VIEW timeline_bins AS
SELECT {'run': run, 'round': round, 'tick': tick} AS key, bin, answered AS n, least FROM time_bins;

SELECT t.run, t.round, t.tick::BIGINT AS bin, sum(n) / (getvariable('bin_ns') / 1e9) AS per_second,
    any_value(v.p[1]) AS p50_ns, any_value(v.p[3]) AS p95_ns, any_value(v.p[4]) AS p99_ns,
    sum(service_ns) / getvariable('bin_ns') AS busy, sum(errors)::BIGINT AS errors
FROM time_bins AS t
LEFT JOIN values_at('timeline_bins', 'usual', 12) AS v ON t.run = v.key.run AND t.round = v.key.round AND t.tick = v.key.tick
GROUP BY t.run, t.round, t.tick
ORDER BY t.run, t.round, bin
