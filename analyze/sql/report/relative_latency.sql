-- SPDX-License-Identifier: Apache-2.0
-- How slow was the server in each twentieth of a run, whatever statements it got just then? For each event: service time divided by
-- the median of its digest in that run; the geometric mean of these. 1 = as usual; a server that warms up begins above.
-- Input: outcome.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/relative_latency.sql
WITH usual AS (
    SELECT run, digest, ln(greatest(median(service_ns), 1)) AS level FROM outcome WHERE ok AND digest IS NOT NULL GROUP BY run, digest
), spans AS (
    SELECT run, round, min(sent_ns) AS first_ns, greatest(max(sent_ns) - min(sent_ns), 1) AS span_ns FROM outcome WHERE ok GROUP BY run, round
)
SELECT o.run, o.round, least(19, 20 * (o.sent_ns - s.first_ns) // s.span_ns)::INTEGER AS part,
    any_value(s.first_ns)::BIGINT AS first_ns, any_value(s.span_ns)::BIGINT AS span_ns, count(*) AS n,
    exp(mean_of(ln(greatest(o.service_ns, 1)) - u.level)) AS relative_latency
FROM outcome AS o
JOIN usual AS u ON o.run = u.run AND o.digest = u.digest
JOIN spans AS s ON o.run = s.run AND o.round = s.round
WHERE o.ok
GROUP BY ALL
ORDER BY o.run, o.round, part
