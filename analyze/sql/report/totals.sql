-- SPDX-License-Identifier: Apache-2.0
-- How much work was done, and how fast? The result has one row for each run, over all its rounds.
--
-- The quantiles contain only statements that were answered without an error. A query that fails quickly is not an
-- improvement.
--
-- Input: the tables shape_counts, session_counts, run_quantiles and spans.
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
--   .read analyze/sql/report/totals.sql
WITH elapsed AS (
    SELECT run, sum(last_done_ns - first_sent_ns) AS elapsed_ns FROM spans GROUP BY run
), sums AS (
    SELECT run, sum(executed)::BIGINT AS executed, sum(errors)::BIGINT AS errors, sum(answered) AS answered, sum(done) AS done,
        sum(service_ns)::BIGINT AS service_ns, max(longest_ns) AS longest_ns, max(longest_response_ns) AS longest_response_ns,
        sum(all_rows_sent)::BIGINT AS rows_sent, sum(all_rows_affected)::BIGINT AS rows_affected
    FROM shape_counts
    GROUP BY run
), sessions AS (
    SELECT run, count(*) AS sessions FROM session_counts GROUP BY run
)
SELECT t.run, executed, errors, elapsed_ns::BIGINT AS elapsed_ns, done / nullif(elapsed_ns / 1e9, 0) AS per_second,
    coalesce(n.sessions, 0) AS sessions, service_ns,
    s.p[1] AS service_p50_ns, s.p[2] AS service_p90_ns, s.p[3] AS service_p95_ns, s.p[4] AS service_p99_ns,
    CASE WHEN answered >= 10000 THEN s.p[5] END AS service_p999_ns, longest_ns AS service_max_ns,
    r.p[1] AS response_p50_ns, r.p[2] AS response_p90_ns, r.p[3] AS response_p95_ns, r.p[4] AS response_p99_ns, longest_response_ns AS response_max_ns,
    rows_sent, rows_affected
FROM sums AS t
JOIN elapsed AS e USING (run)
LEFT JOIN sessions AS n USING (run)
LEFT JOIN run_quantiles AS s ON s.run = t.run AND NOT s.is_response
LEFT JOIN run_quantiles AS r ON r.run = t.run AND r.is_response
ORDER BY t.run
