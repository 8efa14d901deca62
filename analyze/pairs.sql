-- SPDX-License-Identifier: Apache-2.0
-- What did the same event cost in b, compared with a? Per digest, over events answered without an error in both:
--   ratio       median of b's service time divided by a's, event by event
--   ratio_low, ratio_high   its interval by order statistics: ranks n/2 -+ z sqrt(n)/2 (z: variable, Bonferroni over the
--               digests; Conover, Practical Nonparametric Statistics, section 3.2)
--   median_a_ns, median_b_ns, p95_a_ns, p95_b_ns   of the paired events
--   slices      of at most 6 equal parts of the run, those with at least 8 pairs; in how many of them b's median is slower
--               (slower), faster (faster), and b's p90 slower (tail_slower) by half the margin: a stall hits one slice, a
--               regression all of them
--   lost_ns     total of b less total of a
-- Input: outcome, variables z and margin.
WITH pair AS (
    SELECT a.digest, a.service_ns AS a_ns, b.service_ns AS b_ns,
        greatest(b.service_ns, 1) / greatest(a.service_ns, 1) AS ratio,
        least(5, floor(6 * (coalesce(a.due_ns, a.sent_ns) - min(coalesce(a.due_ns, a.sent_ns)) OVER ())
            / greatest(1, max(coalesce(a.due_ns, a.sent_ns)) OVER () - min(coalesce(a.due_ns, a.sent_ns)) OVER ()))) AS slice
    FROM outcome AS a
    JOIN outcome AS b ON b.run = 'b' AND a.session = b.session AND a.seq = b.seq AND a.clone = b.clone AND b.ok
    WHERE a.run = 'a' AND a.ok AND a.digest IS NOT NULL
), ranked AS (
    SELECT digest, ratio, row_number() OVER (PARTITION BY digest ORDER BY ratio) AS place,
        count(*) OVER (PARTITION BY digest) AS n
    FROM pair
), bounds AS (
    SELECT digest, any_value(n) AS n,
        max(ratio) FILTER (place = (n + 1) // 2) AS ratio,
        max(ratio) FILTER (place = greatest(1, floor(n / 2.0 - getvariable('z') * sqrt(n) / 2))) AS ratio_low,
        max(ratio) FILTER (place = least(n, 1 + ceil(n / 2.0 + getvariable('z') * sqrt(n) / 2))) AS ratio_high
    FROM ranked
    GROUP BY digest
), sliced AS (
    SELECT digest, slice, count(*) AS n, median(ratio) AS ratio,
        quantile_disc(b_ns, 0.9) / greatest(quantile_disc(a_ns, 0.9), 1) AS tail_ratio,
        quantile_disc(b_ns, 0.9) - quantile_disc(a_ns, 0.9) AS tail_ns
    FROM pair
    GROUP BY digest, slice
    HAVING count(*) >= 8
), agreeing AS (
    SELECT digest, count(*) AS slices,
        count(*) FILTER (ratio > 1 + getvariable('margin') / 2) AS slower,
        count(*) FILTER (ratio < 1 / (1 + getvariable('margin') / 2)) AS faster,
        count(*) FILTER (tail_ratio > 1 + getvariable('margin')) AS tail_slower,
        median(tail_ratio) AS tail_ratio, median(tail_ns)::BIGINT AS tail_ns
    FROM sliced
    GROUP BY digest
), sums AS (
    SELECT digest,
        median(a_ns)::BIGINT AS median_a_ns, median(b_ns)::BIGINT AS median_b_ns,
        quantile_disc(a_ns, 0.95) AS p95_a_ns, quantile_disc(b_ns, 0.95) AS p95_b_ns,
        (sum(b_ns) - sum(a_ns))::BIGINT AS lost_ns
    FROM pair
    GROUP BY digest
)
SELECT digest, n, ratio, ratio_low, ratio_high, median_a_ns, median_b_ns, p95_a_ns, p95_b_ns, lost_ns,
    coalesce(slices, 0) AS slices, coalesce(slower, 0) AS slower, coalesce(faster, 0) AS faster,
    coalesce(tail_slower, 0) AS tail_slower, tail_ratio, tail_ns
FROM bounds
JOIN sums USING (digest)
LEFT JOIN agreeing USING (digest)
ORDER BY abs(lost_ns) DESC, digest
