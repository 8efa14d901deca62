-- SPDX-License-Identifier: Apache-2.0
-- How much work was done, and how fast? The result has one row for each run, over all its rounds.
--
-- The quantiles contain only statements that were answered without an error. A query that fails quickly is not an
-- improvement.
--
-- Input: the view outcome.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/totals.sql
CREATE OR REPLACE TEMP TABLE totals_spans AS
SELECT run, round, min(sent_ns) AS first_ns, max(done_ns) AS last_ns
FROM outcome
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE totals_sums AS
SELECT run,
    count(*) FILTER (status = 'executed') AS executed,
    count(*) FILTER (status = 'executed' AND errno <> 0) AS errors,
    count(*) FILTER (ok) AS answered,
    count(*) FILTER (done_ns IS NOT NULL) AS done,
    count(DISTINCT session) FILTER (status = 'executed') AS sessions,
    sum(service_ns) FILTER (ok)::BIGINT AS service_ns,
    quantile_disc(service_ns, [0.5, 0.9, 0.95, 0.99, 0.999]) FILTER (ok) AS s,
    max(service_ns) FILTER (ok) AS service_max_ns,
    quantile_disc(response_ns, [0.5, 0.9, 0.95, 0.99]) FILTER (ok) AS r,
    max(response_ns) FILTER (ok) AS response_max_ns,
    sum(rows_sent)::BIGINT AS rows_sent,
    sum(rows_affected)::BIGINT AS rows_affected
FROM outcome
GROUP BY ALL;

WITH spans AS (
    SELECT run, sum(last_ns - first_ns) AS elapsed_ns FROM totals_spans GROUP BY run
)
SELECT run, executed, errors, elapsed_ns::BIGINT AS elapsed_ns, done / nullif(elapsed_ns / 1e9, 0) AS per_second, sessions, service_ns,
    s[1] AS service_p50_ns, s[2] AS service_p90_ns, s[3] AS service_p95_ns, s[4] AS service_p99_ns,
    CASE WHEN answered >= 10000 THEN s[5] END AS service_p999_ns, service_max_ns,
    r[1] AS response_p50_ns, r[2] AS response_p90_ns, r[3] AS response_p95_ns, r[4] AS response_p99_ns, response_max_ns,
    rows_sent, rows_affected
FROM totals_sums
JOIN spans USING (run)
ORDER BY run
