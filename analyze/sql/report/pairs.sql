-- SPDX-License-Identifier: Apache-2.0
-- What does the same event cost in b, compared with a? Per digest, over events answered without an error in both:
--   ratio       median of b's service time divided by a's, event by event
--   ratio_low, ratio_high   its 95 % interval by order statistics: ranks n/2 -+ 1.96 sqrt(n)/2 (Conover, Practical
--               Nonparametric Statistics, section 3.2)
--   median_a_ns, median_b_ns, p95_a_ns, p95_b_ns   of the paired events
--   lost_ns     total of b less total of a
--   longer, longer_ns, shorter, shorter_ns   how many events took longer or less in b, and by how much together
--   tail_share  its share of the whole report's change beyond p99: of what the slowest 1 % of b cost more than those of a
-- Input: paired_times.
-- By hand, with the variables of prelude.sql:
--   .read analyze/sql/prelude.sql
--   .read analyze/sql/matched.sql
--   .read analyze/sql/report/pairs.sql
WITH sorted AS (
    SELECT digest, list_sort(list((greatest(b_ns, 1) / greatest(a_ns, 1))::FLOAT)) AS ratios, count(*) AS n
    FROM paired_times
    GROUP BY digest
), bounds AS (
    SELECT digest, n, ratios[(n + 1) // 2] AS ratio,
        ratios[greatest(1, floor(n / 2.0 - 0.98 * sqrt(n)))::BIGINT] AS ratio_low,
        ratios[least(n, 1 + ceil(n / 2.0 + 0.98 * sqrt(n)))::BIGINT] AS ratio_high
    FROM sorted
), limits AS (
    SELECT quantile_disc(a_ns, 0.99) AS a_ns, quantile_disc(b_ns, 0.99) AS b_ns FROM paired_times
), sums AS (
    SELECT digest,
        median(p.a_ns)::BIGINT AS median_a_ns, median(p.b_ns)::BIGINT AS median_b_ns,
        quantile_disc(p.a_ns, 0.95) AS p95_a_ns, quantile_disc(p.b_ns, 0.95) AS p95_b_ns,
        (sum(p.b_ns) - sum(p.a_ns))::BIGINT AS lost_ns,
        count(*) FILTER (p.b_ns > p.a_ns) AS longer, coalesce(sum(p.b_ns - p.a_ns) FILTER (p.b_ns > p.a_ns), 0)::BIGINT AS longer_ns,
        count(*) FILTER (p.b_ns < p.a_ns) AS shorter, coalesce(sum(p.a_ns - p.b_ns) FILTER (p.b_ns < p.a_ns), 0)::BIGINT AS shorter_ns,
        coalesce(sum(p.b_ns) FILTER (p.b_ns >= l.b_ns), 0) - coalesce(sum(p.a_ns) FILTER (p.a_ns >= l.a_ns), 0) AS tail_ns
    FROM paired_times AS p, limits AS l
    GROUP BY digest
)
SELECT digest, n, ratio, ratio_low, ratio_high, median_a_ns, median_b_ns, p95_a_ns, p95_b_ns, lost_ns,
    longer, longer_ns, shorter, shorter_ns,
    tail_ns / nullif(sum(abs(tail_ns)) OVER (), 0) AS tail_share
FROM bounds
JOIN sums USING (digest)
ORDER BY abs(lost_ns) DESC, digest
