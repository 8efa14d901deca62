-- SPDX-License-Identifier: Apache-2.0
-- How did each round of each side perform? The result has the throughput, the quantiles, and the times relative to the
-- first round of a.
--
-- The relative time is a geometric mean over the digests, weighted by their events. It shows the variance of the
-- machine itself.
--
-- Input: the view outcome.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/rounds.sql
CREATE OR REPLACE TEMP TABLE rounds_levels AS
SELECT run, round, digest, count(*) AS n, mean_of(ln(greatest(service_ns, 1))) AS level
FROM outcome
WHERE ok AND digest IS NOT NULL
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE rounds_sums AS
SELECT run, round,
    count(*) FILTER (status = 'executed') AS executed,
    count(*) FILTER (status = 'executed' AND errno <> 0) AS errors,
    count(*) FILTER (done_ns IS NOT NULL) AS done,
    min(sent_ns) AS first_ns,
    max(done_ns) AS last_ns,
    quantile_disc(service_ns, [0.5, 0.95, 0.99]) FILTER (ok) AS p
FROM outcome
GROUP BY ALL;

WITH against AS (
    SELECT l.run, l.round, exp(sum(l.n * (l.level - f.level) ORDER BY l.digest) / sum(l.n)) AS relative_latency
    FROM rounds_levels AS l
    JOIN rounds_levels AS f ON f.run = 'a' AND f.round = 1 AND l.digest = f.digest
    GROUP BY l.run, l.round
)
SELECT run, round, executed, errors, done / nullif((last_ns - first_ns) / 1e9, 0) AS per_second,
    p[1] AS p50_ns, p[2] AS p95_ns, p[3] AS p99_ns, relative_latency
FROM rounds_sums
LEFT JOIN against USING (run, round)
ORDER BY round, run
