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
-- Input: the tables pair_counts, ratio_bins, service_bins and digest_quantiles.
--
-- Run by hand, after you create the views and set the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/summary/events.sql
--   .read analyze/sql/summary/quantiles.sql
--   .read analyze/sql/report/pairs.sql
CREATE OR REPLACE TEMP VIEW pairs_ratios AS
SELECT digest AS key, bin, n, least FROM ratio_bins;

WITH bins AS (
    SELECT run, bin, sum(pairs) AS n, sum(sum(pairs)) OVER (PARTITION BY run ORDER BY bin) AS upto, sum(sum(pairs)) OVER (PARTITION BY run) AS whole
    FROM service_bins
    WHERE pairs > 0
    GROUP BY run, bin
), weights AS ( -- which part of a bin is at or beyond the p99 of all pairs of the run
    SELECT run, bin, least(1, (upto - rank_of(0.99, whole) + 1) / n) AS weight FROM bins WHERE upto >= rank_of(0.99, whole)
), tails AS (
    SELECT s.digest, sum(CASE WHEN s.run = 'b' THEN w.weight * s.pairs * s.least ELSE -w.weight * s.pairs * s.least END ORDER BY s.run, s.bin, s.least) AS more_ns
    FROM service_bins AS s
    JOIN weights AS w ON s.run = w.run AND s.bin = w.bin
    GROUP BY s.digest
)
SELECT c.digest, c.n, r.p[1] AS ratio, r.p[2] AS ratio_low, r.p[3] AS ratio_high, a.median::BIGINT AS median_a_ns, b.median::BIGINT AS median_b_ns,
    a.p[3] AS p95_a_ns, b.p[3] AS p95_b_ns, c.lost_ns,
    c.longer, coalesce(c.longer_ns, 0) AS longer_ns, c.shorter, coalesce(c.shorter_ns, 0) AS shorter_ns,
    coalesce(t.more_ns, 0) / nullif(sum(abs(coalesce(t.more_ns, 0))) OVER (), 0) AS tail_share
FROM pair_counts AS c
JOIN values_at('pairs_ratios', 'interval', 89) AS r ON c.digest = r.key
JOIN digest_quantiles AS a ON a.paired AND a.run = 'a' AND c.digest = a.digest
JOIN digest_quantiles AS b ON b.paired AND b.run = 'b' AND c.digest = b.digest
LEFT JOIN tails AS t ON c.digest = t.digest
ORDER BY abs(c.lost_ns) DESC, c.digest
