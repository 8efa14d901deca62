-- SPDX-License-Identifier: Apache-2.0
-- How slow was the server in each twentieth of a run, independent of the mix of statements?
--
-- The service time of each event is divided by the median of its digest in the run. The result is the geometric mean of
-- these ratios. 1 = as usual. A server that warms up begins above 1.
--
-- Input: the view outcome.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/report/relative_latency.sql
CREATE OR REPLACE TEMP TABLE relative_latency_usual AS
SELECT run, digest, median(service_ns) AS usual_ns
FROM outcome
WHERE ok AND digest IS NOT NULL
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE relative_latency_spans AS
SELECT run, round, min(sent_ns) AS first_ns, max(sent_ns) AS last_ns
FROM outcome
WHERE ok
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE relative_latency_parts AS
SELECT o.run AS run, o.round AS round, o.digest AS digest,
    least(19, 20 * (o.sent_ns - s.first_ns) // greatest(s.last_ns - s.first_ns, 1))::INTEGER AS part,
    count(*) AS n,
    sum((ln(greatest(o.service_ns, 1)) * 1000000000)::BIGINT) AS logs
FROM outcome AS o
JOIN relative_latency_spans AS s ON o.run = s.run AND o.round = s.round
WHERE o.ok AND o.digest IS NOT NULL
GROUP BY ALL;

SELECT p.run, p.round, p.part, min(s.first_ns)::BIGINT AS first_ns, min(greatest(s.last_ns - s.first_ns, 1))::BIGINT AS span_ns,
    sum(p.n)::BIGINT AS n,
    exp(sum(p.logs - p.n * (ln(greatest(u.usual_ns, 1)) * 1000000000)::BIGINT)::DOUBLE / 1000000000 / sum(p.n)) AS relative_latency
FROM relative_latency_parts AS p
JOIN relative_latency_usual AS u ON p.run = u.run AND p.digest = u.digest
JOIN relative_latency_spans AS s ON p.run = s.run AND p.round = s.round
GROUP BY p.run, p.round, p.part
ORDER BY p.run, p.round, p.part
