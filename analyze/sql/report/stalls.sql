-- SPDX-License-Identifier: Apache-2.0
-- When did the server stall? The result has one row for each stall of a run and round.
--
-- The time is divided into bins of 0.1 s. A bin belongs to a stall in two cases:
-- - Statements waited, and fewer than a third of the usual number were answered. The usual number is the median of the
--   4 s around the bin, but at least half of the run's median.
-- - At least 3 statements waited, and the longest service time was ten times as long as usual and 20 ms longer.
--
-- Neighbouring bins form one stall.
-- - at_ns, long_ns: the beginning of the stall, and its duration.
-- - depth: the number of answers in the stall, as a share of the usual number.
-- - longest_ns: the longest service time that ended in the stall.
-- - errors: statements that failed in the stall.
-- - digest: the digest whose statements waited longest in total.
--
-- Input: the tables tenth_counts and wait_counts.
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
--   .read analyze/sql/report/stalls.sql
WITH waiting AS (
    SELECT run, round, tenth AS bin, sum(n)::BIGINT AS waiting FROM wait_counts GROUP BY ALL
), bins AS (
    SELECT r.run, r.round, unnest(range(r.first, r.last + 1)) AS bin
    FROM (SELECT run, round, min(tenth) AS first, max(tenth) AS last FROM tenth_counts GROUP BY ALL) AS r
), filled AS (
    SELECT b.run, b.round, b.bin, coalesce(a.n, 0) AS n, coalesce(a.longest_ns, 0) AS longest_ns, coalesce(a.errors, 0) AS errors,
        coalesce(w.waiting, 0) AS waiting
    FROM bins AS b
    LEFT JOIN tenth_counts AS a ON a.run = b.run AND a.round = b.round AND a.tenth = b.bin
    LEFT JOIN waiting AS w ON w.run = b.run AND w.round = b.round AND w.bin = b.bin
), usual AS (
    SELECT *,
        greatest(median(n) OVER around, median(n) OVER whole / 2) AS usual_n,
        median(longest_ns) OVER around AS usual_ns
    FROM filled
    WINDOW around AS (PARTITION BY run, round ORDER BY bin ROWS BETWEEN 20 PRECEDING AND 20 FOLLOWING),
        whole AS (PARTITION BY run, round)
), flagged AS (
    SELECT *, usual_n >= 3 AND waiting > 0
        AND (n < usual_n / 3 OR (longest_ns > 10 * usual_ns AND longest_ns > usual_ns + 20000000 AND waiting >= 3)) AS stalls
    FROM usual
), numbered AS (
    SELECT *, bin - row_number() OVER (PARTITION BY run, round ORDER BY bin) AS island FROM flagged WHERE stalls
), spans AS (
    SELECT run, round, min(bin) AS first, max(bin) AS last, sum(n) / nullif(sum(usual_n), 0) AS depth,
        max(longest_ns) AS longest_ns, sum(errors)::BIGINT AS errors
    FROM numbered
    GROUP BY run, round, island
), causes AS (
    SELECT s.run, s.round, s.first, w.digest, sum(w.service_ns) AS waited_ns,
        row_number() OVER (PARTITION BY s.run, s.round, s.first ORDER BY sum(w.service_ns) DESC, w.digest) AS place
    FROM spans AS s
    JOIN wait_counts AS w ON w.run = s.run AND w.round = s.round AND w.tenth BETWEEN s.first AND s.last
    GROUP BY s.run, s.round, s.first, w.digest
)
SELECT s.run, s.round, (s.first * 100000000)::BIGINT AS at_ns, ((s.last - s.first + 1) * 100000000)::BIGINT AS long_ns,
    s.depth, s.longest_ns::BIGINT AS longest_ns, s.errors, c.digest
FROM spans AS s
LEFT JOIN causes AS c ON c.run = s.run AND c.round = s.round AND c.first = s.first AND c.place = 1
ORDER BY s.run, s.round, at_ns
