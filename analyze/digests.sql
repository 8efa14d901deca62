-- SPDX-License-Identifier: Apache-2.0
-- Which statements cost what in each run? One row for each digest and run; the tape's own durations beside them are
-- information only, as they were taken in the server. Input: outcome.
SELECT digest, run,
    any_value(class) AS class,
    count(*) FILTER (status = 'executed') AS n,
    count(*) FILTER (status = 'executed' AND errno <> 0) AS errors,
    sum(service_ns) FILTER (ok)::BIGINT AS total_ns,
    quantile_disc(service_ns, 0.5) FILTER (ok) AS p50_ns,
    quantile_disc(service_ns, 0.9) FILTER (ok) AS p90_ns,
    quantile_disc(service_ns, 0.95) FILTER (ok) AS p95_ns,
    quantile_disc(service_ns, 0.99) FILTER (ok) AS p99_ns,
    CASE WHEN count(*) FILTER (ok) >= 10000 THEN quantile_disc(service_ns, 0.999) FILTER (ok) END AS p999_ns, -- ten beyond it
    max(service_ns) FILTER (ok) AS max_ns,
    quantile_disc(response_ns, 0.95) FILTER (ok) AS response_p95_ns,
    sum(rows_sent) FILTER (ok)::BIGINT AS rows_sent,
    sum(rows_affected) FILTER (ok)::BIGINT AS rows_affected,
    quantile_disc(tape_ns, 0.5) FILTER (ok) AS tape_p50_ns,
    quantile_disc(tape_ns, 0.95) FILTER (ok) AS tape_p95_ns,
    sum(tape_ns) FILTER (ok)::BIGINT AS tape_total_ns
FROM outcome
WHERE digest IS NOT NULL AND status = 'executed'
GROUP BY digest, run
ORDER BY total_ns DESC NULLS LAST, digest, run
