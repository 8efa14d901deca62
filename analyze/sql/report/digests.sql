-- SPDX-License-Identifier: Apache-2.0
-- How much time does each statement cost in each run? The result has one row for each digest and run.
--
-- The tape's own durations are only for information, because they were measured in another place. p99.9 is given if at
-- least ten events exceed it.
--
-- Input: the views outcome and tape_event.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/digests.sql
CREATE OR REPLACE TEMP TABLE digests_sums AS
SELECT digest, run,
    min(class) AS class,
    count(*) AS n,
    count(*) FILTER (errno <> 0) AS errors,
    count(*) FILTER (ok) AS answered,
    sum(service_ns) FILTER (ok)::BIGINT AS total_ns,
    quantile_disc(service_ns, [0.5, 0.9, 0.95, 0.99, 0.999]) FILTER (ok) AS p,
    max(service_ns) FILTER (ok) AS max_ns,
    quantile_disc(response_ns, 0.95) FILTER (ok) AS response_p95_ns,
    sum(rows_sent) FILTER (ok)::BIGINT AS rows_sent,
    sum(rows_affected) FILTER (ok)::BIGINT AS rows_affected
FROM outcome
WHERE digest IS NOT NULL AND status = 'executed'
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE digests_tape AS
SELECT digest::digest_name AS digest, quantile_disc(duration_ns, [0.5, 0.95]) AS p, sum(duration_ns)::BIGINT AS total_ns
FROM tape_event
WHERE digest IS NOT NULL AND getvariable('b') IS NULL
GROUP BY ALL;

SELECT s.digest, s.run, s.class, s.n, s.errors, s.total_ns, s.p[1] AS p50_ns, s.p[2] AS p90_ns, s.p[3] AS p95_ns, s.p[4] AS p99_ns,
    CASE WHEN s.answered >= 10000 THEN s.p[5] END AS p999_ns, s.max_ns, s.response_p95_ns, s.rows_sent, s.rows_affected,
    t.p[1] AS tape_p50_ns, t.p[2] AS tape_p95_ns, t.total_ns AS tape_total_ns
FROM digests_sums AS s
LEFT JOIN digests_tape AS t ON s.digest = t.digest
ORDER BY s.total_ns DESC NULLS LAST, s.digest, s.run
