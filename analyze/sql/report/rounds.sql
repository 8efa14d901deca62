-- SPDX-License-Identifier: Apache-2.0
-- How did each round of each side perform? The result has the throughput, the quantiles, and the times relative to the
-- first round of a.
--
-- The relative time is a geometric mean over the digests, weighted by their events. It shows the variance of the
-- machine itself.
--
-- Input: the tables shape_counts, block_counts, round_quantiles and spans.
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
--   .read analyze/sql/report/rounds.sql
WITH levels AS (
    SELECT run, round, digest, sum(n) AS n, ln_of(sum(logs)) / sum(n) AS level FROM block_counts WHERE digest IS NOT NULL GROUP BY ALL
), against AS (
    SELECT l.run, l.round, exp(sum(l.n * (l.level - f.level) ORDER BY l.digest) / sum(l.n)) AS relative_latency
    FROM levels AS l
    JOIN levels AS f ON f.run = 'a' AND f.round = 1 AND l.digest = f.digest
    GROUP BY l.run, l.round
), sums AS (
    SELECT run, round, sum(executed)::BIGINT AS executed, sum(errors)::BIGINT AS errors, sum(done) AS done FROM shape_counts GROUP BY ALL
)
SELECT s.run, s.round, executed, errors, done / nullif((last_done_ns - first_sent_ns) / 1e9, 0) AS per_second,
    q.p[1] AS p50_ns, q.p[3] AS p95_ns, q.p[4] AS p99_ns, relative_latency
FROM sums AS s
JOIN spans USING (run, round)
LEFT JOIN round_quantiles AS q ON s.run = q.run AND s.round = q.round
LEFT JOIN against AS l ON s.run = l.run AND s.round = l.round
ORDER BY s.round, s.run
