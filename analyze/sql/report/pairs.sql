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
-- Input: the tables pair_counts, ratio_quantiles, digest_quantiles and pair_tails.
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
--   .read analyze/sql/report/pairs.sql
SELECT c.digest, c.n, r.p[1] AS ratio, r.p[2] AS ratio_low, r.p[3] AS ratio_high, a.median::BIGINT AS median_a_ns, b.median::BIGINT AS median_b_ns,
    a.p[3] AS p95_a_ns, b.p[3] AS p95_b_ns, c.lost_ns,
    c.longer, coalesce(c.longer_ns, 0) AS longer_ns, c.shorter, coalesce(c.shorter_ns, 0) AS shorter_ns,
    coalesce(t.more_ns, 0) / nullif(sum(abs(coalesce(t.more_ns, 0))) OVER (), 0) AS tail_share
FROM pair_counts AS c
JOIN ratio_quantiles AS r ON c.digest = r.digest
JOIN digest_quantiles AS a ON a.paired AND a.run = 'a' AND c.digest = a.digest
JOIN digest_quantiles AS b ON b.paired AND b.run = 'b' AND c.digest = b.digest
LEFT JOIN pair_tails AS t ON c.digest = t.digest
ORDER BY abs(c.lost_ns) DESC, c.digest
