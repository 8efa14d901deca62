-- SPDX-License-Identifier: Apache-2.0
-- How slow was the server in each twentieth of a run, independent of the mix of statements?
--
-- The service time of each event is divided by the median of its digest in the run. The result is the geometric mean of
-- these ratios. 1 = as usual. A server that warms up begins above 1.
--
-- Input: the tables part_counts, digest_quantiles and spans.
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
--   .read analyze/sql/report/relative_latency.sql
SELECT p.run, p.round, p.part::INTEGER AS part, min(s.first_ok_ns)::BIGINT AS first_ns, min(greatest(s.last_ok_ns - s.first_ok_ns, 1))::BIGINT AS span_ns,
    sum(p.n)::BIGINT AS n,
    exp(ln_of(sum(p.logs - p.n * log_of(q.median))) / sum(p.n)) AS relative_latency
FROM part_counts AS p
JOIN digest_quantiles AS q ON NOT q.paired AND p.run = q.run AND p.digest = q.digest
JOIN spans AS s ON p.run = s.run AND p.round = s.round
GROUP BY p.run, p.round, p.part
ORDER BY p.run, p.round, p.part
