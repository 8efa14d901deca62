-- SPDX-License-Identifier: Apache-2.0
-- How much time does each statement cost in each run? The result has one row for each digest and run.
--
-- The tape's own durations are only for information, because they were measured in another place. p99.9 is given if at
-- least ten events exceed it.
--
-- Input: the tables shape_counts, digest_quantiles, response_quantiles and tape_quantiles.
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
--   .read analyze/sql/report/digests.sql
WITH sums AS (
    SELECT digest, run, min(class) AS class, sum(executed)::BIGINT AS n, sum(errors)::BIGINT AS errors, sum(answered) AS answered,
        sum(service_ns)::BIGINT AS total_ns, max(longest_ns) AS max_ns, sum(rows_sent)::BIGINT AS rows_sent, sum(rows_affected)::BIGINT AS rows_affected
    FROM shape_counts
    WHERE digest IS NOT NULL AND executed > 0
    GROUP BY ALL
)
SELECT s.digest, s.run, s.class, s.n, s.errors, s.total_ns, q.p[1] AS p50_ns, q.p[2] AS p90_ns, q.p[3] AS p95_ns, q.p[4] AS p99_ns,
    CASE WHEN s.answered >= 10000 THEN q.p[5] END AS p999_ns, s.max_ns, r.p[2] AS response_p95_ns, s.rows_sent, s.rows_affected,
    t.p[1] AS tape_p50_ns, t.p[2] AS tape_p95_ns, t.total_ns AS tape_total_ns
FROM sums AS s
LEFT JOIN digest_quantiles AS q ON NOT q.paired AND s.digest = q.digest AND s.run = q.run
LEFT JOIN response_quantiles AS r ON s.digest = r.digest AND s.run = r.run
LEFT JOIN tape_quantiles AS t ON getvariable('b') IS NULL AND s.digest = t.digest
ORDER BY s.total_ns DESC NULLS LAST, s.digest, s.run
