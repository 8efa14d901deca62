-- SPDX-License-Identifier: Apache-2.0
-- How did each round of each side go? Throughput, quantiles, and its times relative to the first round of a (geometric mean over the
-- digests, weighted by events): the machine's own variance, seen at a glance. Input: outcome.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/rounds.sql
WITH levels AS (
    SELECT run, round, digest, count(*) AS n, mean_of(ln(greatest(service_ns, 1))) AS level
    FROM outcome WHERE ok AND digest IS NOT NULL GROUP BY ALL
), against AS (
    SELECT l.run, l.round, exp(sum(l.n * (l.level - f.level) ORDER BY l.digest) / sum(l.n)) AS relative_latency
    FROM levels AS l
    JOIN levels AS f ON f.run = 'a' AND f.round = 1 AND l.digest = f.digest
    GROUP BY l.run, l.round
), sums AS (
    SELECT o.run, o.round, count(*) FILTER (o.status = 'executed') AS executed,
    count(*) FILTER (o.status = 'executed' AND o.errno <> 0) AS errors,
    count(*) FILTER (o.done_ns IS NOT NULL) / nullif((max(o.done_ns) - min(o.sent_ns)) / 1e9, 0) AS per_second,
    quantile_disc(o.service_ns, [0.5, 0.95, 0.99]) FILTER (o.ok) AS p
    FROM outcome AS o
    GROUP BY o.run, o.round
)
SELECT run, round, executed, errors, per_second, p[1] AS p50_ns, p[2] AS p95_ns, p[3] AS p99_ns, relative_latency
FROM sums
LEFT JOIN against USING (run, round)
ORDER BY round, run
