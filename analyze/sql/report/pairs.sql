-- SPDX-License-Identifier: Apache-2.0
-- How long does the same event take in b, compared with a? The result has one row for each digest. Only events that
-- were answered without an error in both runs count.
-- - ratio: the median, over the events, of the service time in b divided by the service time in a.
-- - ratio_low, ratio_high: the 95 % interval of the ratio by order statistics, with ranks n/2 -+ 1.96 sqrt(n)/2
--   (Conover, Practical Nonparametric Statistics, section 3.2).
-- - median_a_ns, median_b_ns, p95_a_ns, p95_b_ns: the service times of the paired events.
-- - lost_ns: the total time in b minus the total time in a.
-- - longer, longer_ns, shorter, shorter_ns: how many events took longer or less time in b, and the total difference.
-- - tail_share: the digest's share of the whole report's change beyond p99. The change is the time of the slowest 1 %
--   of b minus the time of the slowest 1 % of a.
--
-- Input: the view paired_times.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
--   .read analyze/sql/report/pairs.sql
CREATE OR REPLACE TEMP TABLE pairs_limits AS
SELECT quantile_disc(a_ns, 0.99) AS a_ns, quantile_disc(b_ns, 0.99) AS b_ns
FROM paired_times
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE pairs_sums AS
SELECT digest,
    count(*) AS n,
    middle_interval((greatest(b_ns, 1) / greatest(a_ns, 1))::FLOAT) AS ratios,
    median(a_ns) AS median_a_ns,
    median(b_ns) AS median_b_ns,
    quantile_disc(a_ns, 0.95) AS p95_a_ns,
    quantile_disc(b_ns, 0.95) AS p95_b_ns,
    sum(b_ns - a_ns)::BIGINT AS lost_ns,
    count(*) FILTER (b_ns > a_ns) AS longer,
    sum(b_ns - a_ns) FILTER (b_ns > a_ns)::BIGINT AS longer_ns,
    count(*) FILTER (b_ns < a_ns) AS shorter,
    sum(a_ns - b_ns) FILTER (b_ns < a_ns)::BIGINT AS shorter_ns
FROM paired_times
GROUP BY ALL;

CREATE OR REPLACE TEMP TABLE pairs_tails AS
SELECT p.digest AS digest,
    sum(p.b_ns) FILTER (p.b_ns >= l.b_ns)::BIGINT AS b_ns,
    sum(p.a_ns) FILTER (p.a_ns >= l.a_ns)::BIGINT AS a_ns
FROM paired_times AS p, pairs_limits AS l
WHERE p.b_ns >= l.b_ns OR p.a_ns >= l.a_ns
GROUP BY ALL;

SELECT s.digest, n, ratios[1] AS ratio, ratios[2] AS ratio_low, ratios[3] AS ratio_high, median_a_ns::BIGINT AS median_a_ns,
    median_b_ns::BIGINT AS median_b_ns, p95_a_ns, p95_b_ns, lost_ns,
    longer, coalesce(longer_ns, 0) AS longer_ns, shorter, coalesce(shorter_ns, 0) AS shorter_ns,
    (coalesce(t.b_ns, 0) - coalesce(t.a_ns, 0)) / nullif(sum(abs(coalesce(t.b_ns, 0) - coalesce(t.a_ns, 0))) OVER (), 0) AS tail_share
FROM pairs_sums AS s
LEFT JOIN pairs_tails AS t ON s.digest = t.digest
ORDER BY abs(lost_ns) DESC, s.digest
