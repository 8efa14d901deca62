-- SPDX-License-Identifier: Apache-2.0
-- How much was done, how fast? Per run; quantiles are of statements answered without an error (a query that is faster
-- because it fails is no gain); of several rounds, all of them together. Input: outcome.
WITH spans AS (
    SELECT run, round, max(done_ns) - min(sent_ns) AS span_ns FROM outcome GROUP BY run, round
)
SELECT run,
    count(*) FILTER (status = 'executed') AS executed,
    count(*) FILTER (status = 'executed' AND errno <> 0) AS errors,
    (SELECT sum(span_ns) FROM spans WHERE spans.run = outcome.run)::BIGINT AS elapsed_ns,
    count(*) FILTER (done_ns IS NOT NULL) / nullif((SELECT sum(span_ns) FROM spans WHERE spans.run = outcome.run) / 1e9, 0)
        AS per_second,
    count(DISTINCT session) FILTER (status = 'executed') AS sessions,
    sum(service_ns) FILTER (ok)::BIGINT AS service_ns,
    quantile_disc(service_ns, 0.5) FILTER (ok) AS service_p50_ns,
    quantile_disc(service_ns, 0.9) FILTER (ok) AS service_p90_ns,
    quantile_disc(service_ns, 0.95) FILTER (ok) AS service_p95_ns,
    quantile_disc(service_ns, 0.99) FILTER (ok) AS service_p99_ns,
    CASE WHEN count(*) FILTER (ok) >= 10000 THEN quantile_disc(service_ns, 0.999) FILTER (ok) END AS service_p999_ns,
    max(service_ns) FILTER (ok) AS service_max_ns,
    quantile_disc(response_ns, 0.5) FILTER (ok) AS response_p50_ns,
    quantile_disc(response_ns, 0.9) FILTER (ok) AS response_p90_ns,
    quantile_disc(response_ns, 0.95) FILTER (ok) AS response_p95_ns,
    quantile_disc(response_ns, 0.99) FILTER (ok) AS response_p99_ns,
    max(response_ns) FILTER (ok) AS response_max_ns,
    sum(rows_sent)::BIGINT AS rows_sent,
    sum(rows_affected)::BIGINT AS rows_affected
FROM outcome
GROUP BY run
ORDER BY run
